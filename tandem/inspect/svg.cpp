#include <algorithm>
#include <sstream>

#include "tandem/inspect/formats_detail.h"
#include "tandem/inspect/layout_detail.h"
#include "tandem/inspect/text_detail.h"

namespace tandem::inspect {

GroupLook look_of_group(bool fused) {
  if (fused) return {"#fff4d6", "#d9a300", "#7a5c00"};
  return {"#eef4fa", "#8fb0cf", "#2f5577"};
}

std::vector<Kind> kinds_in(const Picture& picture) {
  bool seen[kKinds] = {};
  for (const Picture::Box& b : picture.boxes) seen[static_cast<int>(b.kind)] = true;
  std::vector<Kind> kinds;
  for (int k = 0; k < kKinds; ++k)
    if (seen[k]) kinds.push_back(static_cast<Kind>(k));
  return kinds;
}

std::string style_sheet(const Picture& picture) {
  TextStream out;
  out << "text{font-family:'DejaVu Sans Mono',Menlo,Consolas,'Courier New',monospace;fill:#1b1f24;"
         "text-anchor:middle}"
      << ".t{font-size:" << kTitleFont << "px}.s{font-size:" << kTextFont << "px;fill:#444c56}"
      << ".l{text-anchor:start;font-size:" << kTitleFont << "px}"
      << ".wire{fill:none;stroke:#5b6570;stroke-width:1.1}.dashed{stroke:#c98414;stroke-dasharray:"
         "5 3}"
      << ".head{fill:#5b6570}.head.dashed{fill:#c98414;stroke:none}";
  for (const Kind k : kinds_in(picture)) {
    const Look& look = look_of(k, picture.autograd);
    out << "." << look.name << " rect{fill:" << look.fill << ";stroke:" << look.stroke << "}";
  }
  for (const bool fused : {false, true}) {
    const GroupLook look = look_of_group(fused);
    const char* name = fused ? ".fused" : ".module";
    out << "rect" << name << "{fill:" << look.fill << ";stroke:" << look.stroke
        << ";stroke-width:1.2}text" << name << "{fill:" << look.text << "}";
  }
  return out.str();
}

namespace {

constexpr double kArrow = 6;

class Svg {
 public:
  Svg(const Picture& picture, int open)
      : picture_(picture),
        open_(picture.open_groups(open)),
        placed_(place(picture, arrange(picture), open_)) {}

  std::string text() {
    TextStream body;
    std::swap(out_, body);
    head();
    out_ << "<g transform=\"translate(0," << number(top_) << ")\">\n";
    groups();
    wires();
    labels();
    boxes();
    out_ << "</g>\n";
    std::swap(out_, body);
    const double w = std::max(placed_.size.w, width_), h = placed_.size.h + top_;
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << number(w) << "\" height=\""
         << number(h) << "\" viewBox=\"0 0 " << number(w) << " " << number(h) << "\">\n"
         << "<title>" << xml(picture_.title.empty() ? "graph" : picture_.title) << "</title>\n"
         << "<style>" << style_sheet(picture_) << "</style>\n"
         << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
         << body.str() << "</svg>\n";
    return out_.str();
  }

 private:
  void rect(const Rect& r, double round) {
    out_ << " x=\"" << number(r.x) << "\" y=\"" << number(r.y) << "\" width=\"" << number(r.w)
         << "\" height=\"" << number(r.h) << "\" rx=\"" << number(round) << "\"";
  }

  // Title and legend, above everything.
  void head() {
    double y = 12;
    if (!picture_.title.empty()) {
      out_ << "<text class=\"l\" x=\"16\" y=\"" << number(y + 12) << "\" font-weight=\"bold\">"
           << xml(picture_.title) << "</text>\n";
      width_ = 40 + 7.4 * static_cast<double>(columns(clean(picture_.title)));
      y += 24;
    }
    double x = 16;
    const auto entry = [&](const std::string& rect, const std::string& words) {
      const double w = 26 + 6.1 * static_cast<double>(columns(words));
      if (x > 16 && x + w > std::max(placed_.size.w, width_)) x = 16, y += 18;
      out_ << "<g" << rect << " x=\"" << number(x) << "\" y=\"" << number(y)
           << "\" width=\"12\" height=\"12\" rx=\"2\"/><text class=\"s\" "
              "style=\"text-anchor:start\" x=\""
           << number(x + 17) << "\" y=\"" << number(y + 10) << "\">" << words << "</text></g>\n";
      x += w;
      width_ = std::max(width_, x);
    };
    for (const Kind k : kinds_in(picture_)) {
      const Look& look = look_of(k, picture_.autograd);
      entry(text_of(" class=\"", look.name, "\"><rect"), look.words);
    }
    bool seen[2] = {};
    for (size_t g = 1; g < picture_.groups.size(); ++g) seen[picture_.groups[g].fused] = true;
    if (seen[0]) entry("><rect class=\"module\"", "module");
    if (seen[1]) entry("><rect class=\"fused\"", "one kernel");
    top_ = y + 18;
  }

  void groups() {
    for (size_t g = 1; g < picture_.groups.size(); ++g) {
      if (placed_.groups[g].w == 0) continue;
      out_ << "<rect class=\"" << (picture_.groups[g].fused ? "fused" : "module") << "\"";
      rect(placed_.groups[g], 6);
      out_ << "><title>" << xml(picture_.groups[g].tip) << "</title></rect>\n";
    }
  }

  // One path for all lines of a kind, and one for their heads, keeps large drawings small.
  void wires() {
    for (const bool dashed : {true, false}) {
      std::string lines, heads;
      for (const Wire& w : placed_.wires) {
        if (w.dashed != dashed) continue;
        const double y1 = w.y1 + (w.upwards ? kArrow : 0), y4 = w.y4 - (w.arrow ? kArrow : 0);
        const double y2 = std::max(y1, w.y2), y3 = std::min(y4, w.y3), middle = (y2 + y3) / 2;
        lines += "M" + number(w.x1) + " " + number(y1);
        if (number(w.x1) != number(w.x2))
          lines += "V" + number(y2) + "C" + number(w.x1) + " " + number(middle) + " " +
                   number(w.x2) + " " + number(middle) + " " + number(w.x2) + " " + number(y3);
        lines += "V" + number(y4);
        if (w.arrow) heads += triangle(w.x2, w.y4, -kArrow);
        if (w.upwards) heads += triangle(w.x1, w.y1, kArrow);
      }
      const char* kind = dashed ? " dashed" : "";
      if (!lines.empty()) out_ << "<path class=\"wire" << kind << "\" d=\"" << lines << "\"/>\n";
      if (!heads.empty()) out_ << "<path class=\"head" << kind << "\" d=\"" << heads << "\"/>\n";
    }
  }
  static std::string triangle(double x, double y, double length) {
    return "M" + number(x) + " " + number(y) + "l-3.5 " + number(length) + "h7z";
  }

  // Lines may pass under the name of a group, so it has a ground of its own.
  void labels() {
    for (size_t g = 1; g < picture_.groups.size(); ++g) {
      const Rect& r = placed_.groups[g];
      if (r.w == 0) continue;
      const Picture::Group& group = picture_.groups[g];
      const char* kind = group.fused ? "fused" : "module";
      if (!open_[g]) {
        out_ << "<text class=\"t " << kind << "\" x=\"" << number(r.x + r.w / 2) << "\" y=\""
             << number(r.y + r.h / 2 + 4) << "\">" << xml(group.name) << "</text>\n";
        continue;
      }
      out_ << "<rect class=\"" << kind << "\" style=\"stroke:none\"";
      rect({r.x + 5, r.y + 3, label_width(group) + 8, 17}, 3);
      out_ << "/><text class=\"l " << kind << "\" x=\"" << number(r.x + 9) << "\" y=\""
           << number(r.y + 16) << "\">" << xml(group.name) << "</text>\n";
    }
  }

  void boxes() {
    for (size_t b = 0; b < picture_.boxes.size(); ++b) {
      const Picture::Box& box = picture_.boxes[b];
      const Rect& r = placed_.boxes[b];
      if (r.w == 0) continue;
      out_ << "<g class=\"" << look_of(box.kind, picture_.autograd).name << "\"><title>"
           << xml(box.tip) << "</title><rect";
      rect(r, box.kind == Kind::function ? 3 : 5);
      out_ << "/>";
      double y = r.y + 4 + line_height(kTitleFont) * 0.75;
      for (size_t i = 0; i < box.lines.size(); ++i) {
        out_ << "<text class=\"" << (i ? "s" : "t") << "\" x=\"" << number(r.x + r.w / 2)
             << "\" y=\"" << number(y) << "\">" << xml(clean(box.lines[i])) << "</text>";
        y += line_height(kTextFont) + (i ? 0 : 1);
      }
      out_ << "</g>\n";
    }
  }

  const Picture& picture_;
  const std::vector<bool> open_;
  const Placement placed_;
  TextStream out_;
  double top_ = 0, width_ = 0;
};

}  // namespace

std::string svg_text(const Picture& picture, int open) { return Svg(picture, open).text(); }

}  // namespace tandem::inspect
