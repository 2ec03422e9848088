#pragma once

namespace tandem {

/// While one exists, a thread of the library's own has work to do beside the program, and parallel
/// loops leave a processor to it. On all of them they would wait for each other: the loop until a
/// share whose thread has lost its processor is done, that thread for the next slice of time.
class BackgroundWork {
 public:
  BackgroundWork();
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
};

}  // namespace tandem
