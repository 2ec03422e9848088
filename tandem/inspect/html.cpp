#include <sstream>

#include "tandem/inspect/formats_detail.h"
#include "tandem/inspect/layout_detail.h"
#include "tandem/inspect/text_detail.h"

namespace tandem::inspect {
namespace {

// About so many boxes are easily read on a screen.
constexpr size_t kReadable = 60;

constexpr const char* kPageStyle =
    "html,body{margin:0;height:100%;overflow:hidden;background:#fff;"
    "font:13px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;color:#1b1f24}"
    "body{display:flex;flex-direction:column}"
    "header{display:flex;flex-wrap:wrap;gap:6px 14px;align-items:center;padding:8px 14px;"
    "border-bottom:1px solid #d8dee4;background:#f6f8fa}"
    "h1{font-size:15px;margin:0 8px 0 0}"
    ".key{display:inline-flex;align-items:center;gap:5px;white-space:nowrap}"
    ".key i{width:12px;height:12px;border:1px solid;border-radius:2px;display:inline-block}"
    "button{font:inherit;padding:2px 9px;border:1px solid "
    "#c3cad2;border-radius:4px;background:#fff;"
    "cursor:pointer}button:hover{background:#eef1f4}"
    "#graph{flex:1;width:100%;min-height:0;cursor:grab;touch-action:none;user-select:none}"
    "#tip{position:fixed;display:none;max-width:60ch;white-space:pre-wrap;overflow-wrap:anywhere;"
    "background:#1b1f24;color:#fff;padding:6px 9px;border-radius:5px;pointer-events:none;"
    "font:12px 'DejaVu Sans Mono',Menlo,Consolas,monospace}"
    ".label{cursor:pointer}.closed{font-weight:bold}.wire.lit{stroke:#d1242f;stroke-width:2.2}"
    "path.head.lit{fill:#d1242f}";

class Page {
 public:
  Page(const Picture& picture, int open)
      : picture_(picture),
        open_(picture.open_groups(open < 0 ? picture.levels_within(kReadable) : open)),
        arrangement_(arrange(picture)) {}

  std::string text() {
    const std::string title = xml(picture_.title.empty() ? "graph" : picture_.title);
    out_ << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>"
         << title << "</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n<style>"
         << kPageStyle << style_sheet(picture_) << "</style>\n</head>\n<body>\n<header><h1>"
         << title << "</h1>\n"
         << "<button id=\"fit\" type=\"button\">fit</button>"
            "<button id=\"in\" type=\"button\">+</button>"
            "<button id=\"out\" type=\"button\">\xE2\x88\x92</button>"
            "<button id=\"open\" type=\"button\">open all</button>"
            "<button id=\"close\" type=\"button\">close all</button>\n";
    legend();
    out_ << "</header>\n<svg id=\"graph\" xmlns=\"http://www.w3.org/2000/svg\"></svg>\n"
            "<div id=\"tip\"></div>\n<noscript>This page draws its graph with a script, which the "
            "browser does not run.</noscript>\n<script type=\"application/json\" id=\"data\">";
    data();
    out_ << "</script>\n<script>\n" << kPageScript << "</script>\n</body>\n</html>\n";
    return out_.str();
  }

 private:
  void legend() {
    const auto key = [&](const char* fill, const char* stroke, const char* words) {
      out_ << "<span class=\"key\"><i style=\"background:" << fill << ";border-color:" << stroke
           << "\"></i>" << words << "</span>\n";
    };
    for (const Kind k : kinds_in(picture_)) {
      const Look& look = look_of(k, picture_.autograd);
      key(look.fill, look.stroke, look.words);
    }
    bool seen[2] = {};
    for (size_t g = 1; g < picture_.groups.size(); ++g) seen[picture_.groups[g].fused] = true;
    for (const bool fused : {false, true})
      if (seen[fused])
        key(look_of_group(fused).fill, look_of_group(fused).stroke,
            fused ? "one kernel" : "module");
  }

  void data() {
    out_ << "{\"side\":" << kSide << ",\"header\":" << kHeader << ",\"foot\":" << kFoot
         << ",\"kinds\":[";
    for (int k = 0; k < kKinds; ++k)
      out_ << (k ? "," : "")
           << "{\"name\":" << json_string(look_of(static_cast<Kind>(k), picture_.autograd).name)
           << ",\"flows\":" << (flows(static_cast<Kind>(k)) ? "true" : "false") << "}";
    out_ << "],\n\"boxes\":[";
    for (size_t b = 0; b < picture_.boxes.size(); ++b) box(picture_.boxes[b], b == 0);
    out_ << "],\n\"groups\":[";
    for (size_t g = 0; g < picture_.groups.size(); ++g) {
      const Picture::Group& group = picture_.groups[g];
      const Size size = size_of(group);
      out_ << (g ? ",\n" : "") << "{\"name\":" << json_string(group.name)
           << ",\"tip\":" << json_string(group.tip) << ",\"fused\":" << group.fused
           << ",\"open\":" << open_[g] << ",\"label\":" << real(label_width(group))
           << ",\"w\":" << real(size.w) << ",\"h\":" << real(size.h) << "}";
    }
    out_ << "],\n\"levels\":[";
    for (size_t g = 0; g < arrangement_.levels.size(); ++g) level(arrangement_.levels[g], g == 0);
    out_ << "]}";
  }

  void box(const Picture::Box& b, bool first) {
    const Size size = size_of(b);
    out_ << (first ? "" : ",\n") << "{\"kind\":" << static_cast<int>(b.kind)
         << ",\"w\":" << real(size.w) << ",\"h\":" << real(size.h) << ",\"lines\":[";
    for (size_t i = 0; i < b.lines.size(); ++i)
      out_ << (i ? "," : "") << json_string(clean(b.lines[i]));
    out_ << "],\"tip\":" << json_string(b.tip) << "}";
  }

  void level(const Arrangement::Level& l, bool first) {
    out_ << (first ? "" : ",\n") << "{\"items\":[";
    for (size_t i = 0; i < l.items.size(); ++i)
      out_ << (i ? "," : "") << static_cast<int>(l.items[i].what) << "," << l.items[i].ref;
    out_ << "],\"rows\":[";
    for (size_t r = 0; r < l.rows.size(); ++r) {
      out_ << (r ? ",[" : "[");
      for (size_t i = 0; i < l.rows[r].size(); ++i) out_ << (i ? "," : "") << l.rows[r][i];
      out_ << "]";
    }
    out_ << "],\"links\":[";
    for (size_t i = 0; i < l.links.size(); ++i) {
      const Arrangement::Link& k = l.links[i];
      out_ << (i ? "," : "") << k.from << "," << k.to << "," << k.from_port << "," << k.to_port
           << "," << k.source << "," << (k.dashed ? 1 : 0) + (k.upwards ? 2 : 0);
    }
    out_ << "]}";
  }

  // All digits: the script goes on with the same number.
  static std::string real(double v) {
    TextStream out;
    out.precision(17);
    out << v;
    return out.str();
  }

  const Picture& picture_;
  const std::vector<bool> open_;
  const Arrangement arrangement_;
  TextStream out_;
};

}  // namespace

std::string html_text(const Picture& picture, int open) { return Page(picture, open).text(); }

}  // namespace tandem::inspect
