#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/base/error.h"

namespace tandem {

/// A dictionary that keeps the order in which its items were inserted.
///
///     OrderedDict<std::string, int> d;
///     d.insert("one", 1);
///     d["one"];        // the value; an error that names the key if there is none
///     d[0].key();      // the first item
template <class Key, class Value>
class OrderedDict {
 public:
  /// A key with its value: *item and item->... are the value.
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    Value& operator*() { return pair_.second; }
    const Value& operator*() const { return pair_.second; }
    Value* operator->() { return &pair_.second; }
    const Value* operator->() const { return &pair_.second; }
    const Key& key() const noexcept { return pair_.first; }
    Value& value() noexcept { return pair_.second; }
    const Value& value() const noexcept { return pair_.second; }
    const std::pair<Key, Value>& pair() const noexcept { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };
  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;

  /// What the keys are is said in errors: "Parameter 'p' already defined".
  explicit OrderedDict(std::string key_description = "Key")
      : key_description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) {
    reserve(items.size());
    for (const Item& item : items) insert(item.key(), item.value());
  }

  const std::string& key_description() const noexcept { return key_description_; }

  Item& front() { return at_end(0, "front"); }
  const Item& front() const { return const_cast<OrderedDict*>(this)->front(); }
  Item& back() { return at_end(items_.size() - 1, "back"); }
  const Item& back() const { return const_cast<OrderedDict*>(this)->back(); }

  /// The item at a position.
  Item& operator[](size_t index) {
    TANDEM_CHECK_INDEX(index < items_.size(), "Index ", index, " is out of bounds");
    return items_[index];
  }
  const Item& operator[](size_t index) const { return const_cast<OrderedDict&>(*this)[index]; }

  /// The value of a key, which must be there; find() is for keys that may not be.
  Value& operator[](const Key& key) {
    Value* value = find(key);
    TANDEM_CHECK_INDEX(value, key_description_, " '", key, "' is not defined");
    return *value;
  }
  const Value& operator[](const Key& key) const { return const_cast<OrderedDict&>(*this)[key]; }

  /// The value of a key, or null.
  Value* find(const Key& key) noexcept {
    const auto it = index_.find(key);
    return it == index_.end() ? nullptr : &items_[it->second].value();
  }
  const Value* find(const Key& key) const noexcept {
    return const_cast<OrderedDict*>(this)->find(key);
  }
  bool contains(const Key& key) const noexcept { return find(key) != nullptr; }

  Iterator begin() { return items_.begin(); }
  ConstIterator begin() const { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator end() const { return items_.end(); }

  size_t size() const noexcept { return items_.size(); }
  bool is_empty() const noexcept { return items_.empty(); }
  void reserve(size_t capacity) {
    index_.reserve(capacity);
    items_.reserve(capacity);
  }

  /// Adds an item at the end; an error if the key is there already.
  template <class K, class V>
  Value& insert(K&& key, V&& value) {
    Key k(std::forward<K>(key));
    const auto [it, is_new] = index_.try_emplace(k, items_.size());
    TANDEM_CHECK(is_new, key_description_, " '", k, "' already defined");
    items_.emplace_back(std::move(k), Value(std::forward<V>(value)));
    return items_.back().value();
  }
  Value& insert(Key key, Value&& value) {
    return insert<Key, Value>(std::move(key), std::move(value));
  }

  /// Adds all items of another dictionary; an error, before anything is added, if one is there.
  void update(const OrderedDict& other) {
    expect_new(other);
    reserve(size() + other.size());
    for (const Item& item : other) insert(item.key(), item.value());
  }
  void update(OrderedDict&& other) {
    expect_new(other);
    reserve(size() + other.size());
    for (Item& item : other) insert(item.key(), std::move(item.value()));
  }

  /// Removes a key, which must be there.
  void erase(const Key& key) {
    const auto it = index_.find(key);
    TANDEM_CHECK_INDEX(it != index_.end(), "Key '", key, "' doesn't exist");
    const size_t position = it->second;
    index_.erase(it);
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(position));
    for (auto& [k, index] : index_)
      if (index > position) --index;
  }
  void clear() {
    index_.clear();
    items_.clear();
  }

  const std::vector<Item>& items() const noexcept { return items_; }
  std::vector<Key> keys() const {
    std::vector<Key> all;
    all.reserve(size());
    for (const Item& item : items_) all.push_back(item.key());
    return all;
  }
  std::vector<Value> values() const {
    std::vector<Value> all;
    all.reserve(size());
    for (const Item& item : items_) all.push_back(item.value());
    return all;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> all;
    all.reserve(size());
    for (const Item& item : items_) all.push_back(item.pair());
    return all;
  }

  /// The same keys with equal values, in the same order.
  friend bool operator==(const OrderedDict& a, const OrderedDict& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!(a.items_[i].key() == b.items_[i].key()) ||
          !(a.items_[i].value() == b.items_[i].value()))
        return false;
    return true;
  }

 private:
  Item& at_end(size_t index, const char* which) {
    TANDEM_CHECK_INDEX(!items_.empty(), "Called ", which, "() on an empty OrderedDict");
    return items_[index];
  }
  void expect_new(const OrderedDict& other) const {
    for (const Item& item : other)
      TANDEM_CHECK(!contains(item.key()), key_description_, " '", item.key(), "' already defined");
  }

  std::unordered_map<Key, size_t> index_;  // positions in items_
  std::vector<Item> items_;
  std::string key_description_ = "Key";
};

}  // namespace tandem
