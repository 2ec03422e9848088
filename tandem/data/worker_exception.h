#pragma once

#include <exception>
#include <optional>
#include <string>

namespace tandem::data {

/// What a worker threw, handed to whoever asked for the batch.
struct WorkerException : std::exception {
  explicit WorkerException(std::exception_ptr original, std::optional<size_t> sample = std::nullopt)
      : original_exception(std::move(original)), sample_index(sample) {
    try {
      std::rethrow_exception(original_exception);
    } catch (const std::exception& e) {
      message += std::string(" Original message: ") + e.what();
    } catch (...) {
    }
  }
  const char* what() const noexcept override { return message.c_str(); }

  std::exception_ptr original_exception;
  /// Which sample of the data set was being made, where that is known.
  std::optional<size_t> sample_index;
  std::string message = "Caught exception in DataLoader worker thread.";
};

}  // namespace tandem::data
