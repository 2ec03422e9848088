#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tandem/inspect/draw.h"
#include "tandem/inspect/layout_detail.h"
#include "tandem/ops/ops.h"

/// What the tests of drawings share.
namespace tandem::inspect {

inline size_t count(const Picture& p, Kind kind) {
  return static_cast<size_t>(std::count_if(p.boxes.begin(), p.boxes.end(),
                                           [&](const Picture::Box& b) { return b.kind == kind; }));
}

inline size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

/// The box whose first line is that; -1 if there is none.
inline int find_box(const Picture& p, const std::string& name) {
  for (size_t b = 0; b < p.boxes.size(); ++b)
    if (p.boxes[b].lines[0] == name) return static_cast<int>(b);
  return -1;
}

inline bool has_line(const Picture& p, const std::string& from, const std::string& to) {
  return std::any_of(p.lines.begin(), p.lines.end(), [&](const Picture::Line& l) {
    return p.boxes[static_cast<size_t>(l.from)].lines[0] == from &&
           p.boxes[static_cast<size_t>(l.to)].lines[0] == to;
  });
}

/// The names of the groups around a box, from the outermost on: "Net/fc: Linear".
inline std::string groups_around(const Picture& p, int box) {
  std::string path;
  for (int g = p.boxes.at(static_cast<size_t>(box)).group; g > 0;
       g = p.groups[static_cast<size_t>(g)].parent)
    path = p.groups[static_cast<size_t>(g)].name + (path.empty() ? "" : "/") + path;
  return path;
}

/// What is wrong with the text as XML; empty if nothing is. Tags nest, attributes are quoted and
/// appear once, entities are known, and there are no control characters.
inline std::string wrong_in_xml(const std::string& text) {
  std::vector<std::string> open;
  const auto entity = [&](size_t at) {
    for (const char* e : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#10;"})
      if (text.compare(at, std::string(e).size(), e) == 0) return true;
    return false;
  };
  bool any = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') return "a control character";
    if (c == '&' && !entity(i)) return "a bare & at " + text.substr(i, 20);
    if (c == '>') return "a bare > at " + text.substr(i, 20);
    if (c != '<') {
      ++i;
      continue;
    }
    if (open.empty() && any) return "more than one root";
    any = true;
    const bool closes = text[i + 1] == '/';
    size_t at = i + (closes ? 2 : 1);
    std::string name;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at]))))
      name += text[at++];
    if (name.empty()) return "a tag without a name at " + text.substr(i, 20);
    std::vector<std::string> attributes;
    bool alone = false;
    while (at < text.size() && text[at] != '>') {
      if (text[at] == '/') {
        alone = true;
        ++at;
        continue;
      }
      if (text[at] != ' ') return "no space before an attribute of " + name;
      ++at;
      std::string key;
      while (at < text.size() && text[at] != '=' && text[at] != ' ' && text[at] != '>')
        key += text[at++];
      if (at + 1 >= text.size() || text[at] != '=' || text[at + 1] != '"')
        return "attribute " + key + " of " + name + " has no quoted value";
      if (std::find(attributes.begin(), attributes.end(), key) != attributes.end())
        return "attribute " + key + " of " + name + " appears twice";
      attributes.push_back(key);
      at += 2;
      while (at < text.size() && text[at] != '"') {
        if (text[at] == '<') return "a < in attribute " + key;
        if (text[at] == '&' && !entity(at)) return "a bare & in attribute " + key;
        ++at;
      }
      ++at;
    }
    if (at >= text.size()) return "a tag that does not end: " + name;
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + "> without its beginning";
      open.pop_back();
    } else if (!alone) {
      open.push_back(name);
    }
    i = at + 1;
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

/// A folder of its own that is removed in the end.
class Folder {
 public:
  Folder() {
    const std::string base = ::testing::TempDir() + "tandem_draw_XXXXXX";
    std::vector<char> name(base.begin(), base.end());
    name.push_back(0);
    if (!mkdtemp(name.data())) ADD_FAILURE() << "no folder " << base;
    path_ = name.data();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// The message of the error that the call throws; fails if it throws none.
template <class E = Error, class F>
std::string error_of(F&& call) {
  try {
    call();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another error: " << e.what();
    return {};
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace tandem::inspect
