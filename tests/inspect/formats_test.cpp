#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <locale>

#include "pictures.h"
#include "tandem/compile/compile.h"
#include "tandem/inspect/formats_detail.h"
#include "tandem/inspect/text_detail.h"
#include "tandem/nn/nn.h"

namespace tandem::inspect {
namespace {

const std::vector<std::string> kHostile = {
    "</script><script>alert(1)</script>",
    "\"quoted\" 'and' \\back\\slashed\\",
    "<!-- & --> ]]> &amp; &bogus;",
    std::string("nul\0 bell\a esc\x1b[31m del\x7f", 22),
    "line\nfeed\r\ttab",
    "bad utf8 \xff\xfe \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 end\xe2\x82",
    "\xe2\x80\xa8 separators \xe2\x80\xa9 and \xe2\x80\xae turned",
    "\xe5\xad\x97\xe5\xb9\x95 \xf0\x9f\x98\x80",
    "\\N \\G \\l {a|b} <port> \\",
    "*/ `${alert(1)}`",
};

bool is_utf8(const std::string& text) { return clean(text, true) == text; }

bool installed(const char* program) {
  return std::system(("command -v " + std::string(program) + " >/dev/null 2>&1").c_str()) == 0;
}

TEST(DrawText, CleansWhatNoFormatCanHold) {
  EXPECT_EQ(clean("plain \xc3\xa4"), "plain \xc3\xa4");
  EXPECT_EQ(clean("a\tb\nc"), "a b c");
  EXPECT_EQ(clean("a\nb", true), "a\nb");
  EXPECT_EQ(clean("\x01\x7f\xff"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(clean("\xed\xa0\x80").find('\xed'), std::string::npos);
  EXPECT_EQ(xml("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(dot_string("a\"b\\c\nd&e"), "\"a\\\"b\\\\c\\nd&amp;e\"");
  EXPECT_EQ(json_string("a\"b\\c\nd</x>&"), "\"a\\\"b\\\\c\\nd\\u003c/x\\u003e\\u0026\"");
  EXPECT_EQ(columns("a\xc3\xa4\xe5\xad\x97"), 4u);
  EXPECT_EQ(shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(shorten("abcdefg", 6), "abcde\xE2\x80\xA6");
  EXPECT_EQ(shorten("\xe5\xad\x97\xe5\xad\x97\xe5\xad\x97", 4), "\xe5\xad\x97\xE2\x80\xA6");
  EXPECT_EQ(number(1), "1");
  EXPECT_EQ(number(-0.001), "0");
  EXPECT_EQ(number(1234.567), "1234.57");
}

TEST(DrawFormats, CheckerOfXmlFindsMistakes) {
  EXPECT_EQ(wrong_in_xml("<a x=\"1\"><b/>text &amp; more</a>\n"), "");
  for (const char* wrong :
       {"<a>", "<a></b>", "</a>", "<a x=1/>", "<a x=\"1\" x=\"2\"/>", "<a>&b</a>", "<a/><b/>",
        "<a>></a>", "<a x=\"<\"/>", "<a>\x01</a>", "<a x=\"1\"y=\"2\"/>"})
    EXPECT_NE(wrong_in_xml(wrong), "") << wrong;
}

// The texts of all boxes, and title and group names, taken from strangers.
Picture hostile_picture() {
  Picture p;
  for (const std::string& text : kHostile) {
    Picture::Group g;
    g.name = g.tip = p.title = text;
    g.parent = static_cast<int>(p.groups.size()) - 1;
    p.groups.push_back(g);
    Picture::Box b;
    b.kind = Kind::function;
    b.lines = {text, text};
    b.tip = text;
    b.group = g.parent + 1;
    p.boxes.push_back(b);
    if (p.boxes.size() > 1)
      p.lines.push_back(
          {static_cast<int>(p.boxes.size()) - 2, static_cast<int>(p.boxes.size()) - 1});
    p.title += text;
  }
  return p;
}

TEST(DrawFormats, HostileTextsDoNoHarm) {
  const Picture p = hostile_picture();
  for (const int open : {-1, 0, 3}) {
    const std::string svg = svg_text(p, open);
    EXPECT_EQ(wrong_in_xml(svg), "");
    EXPECT_TRUE(is_utf8(svg));
    EXPECT_EQ(count(svg, "<script"), 0u);
    const std::string html = html_text(p, open);
    EXPECT_TRUE(is_utf8(html));
    EXPECT_EQ(count(html, "<script"), 2u);  // the data and the program
    EXPECT_EQ(count(html, "</script"), 2u);
    EXPECT_EQ(count(html, "<!--"), 0u);
    const std::string dot = dot_text(p, open);
    EXPECT_TRUE(is_utf8(dot));
    EXPECT_EQ(count(dot, "\n"), static_cast<size_t>(std::count(dot.begin(), dot.end(), '\n')));
    // Every string ends on its line.
    std::istringstream lines(dot);
    for (std::string line; std::getline(lines, line);) {
      bool quoted = false;
      for (size_t i = 0; i < line.size(); ++i) {
        if (quoted && line[i] == '\\')
          ++i;
        else if (line[i] == '"')
          quoted = !quoted;
      }
      EXPECT_FALSE(quoted) << line;
    }
  }
}

TEST(DrawFormats, NamesAndTitlesArriveEscaped) {
  const Tensor a = randn({2}, requires_grad());
  const DrawOptions options{.names = {{"a<b>&\"c\"", a}}, .title = "x < y"};
  const std::string svg = to_svg(a.exp(), options);
  EXPECT_EQ(wrong_in_xml(svg), "");
  EXPECT_NE(svg.find(">a&lt;b&gt;&amp;&quot;c&quot;</text>"), std::string::npos);
  EXPECT_NE(svg.find("<title>x &lt; y</title>"), std::string::npos);
  EXPECT_NE(to_dot(a.exp(), options).find("label=\"a<b>&amp;\\\"c\\\"\\n[2]\""), std::string::npos);
  EXPECT_NE(to_html(a.exp(), options).find("\"a\\u003cb\\u003e\\u0026\\\"c\\\"\""),
            std::string::npos);
}

TEST(DrawFormats, GraphvizReadsTheDot) {
  if (!installed("dot")) GTEST_SKIP() << "graphviz is not installed: DOT was not read by it";
  const Folder folder;
  nn::Sequential net(nn::Linear(4, 4), nn::ReLU(), nn::Linear(4, 2));
  std::ofstream(folder / "hostile.dot") << dot_text(hostile_picture(), -1);
  draw(net->forward(randn({2, 4})), folder / "net.dot", {.module = net});
  draw(net->forward(randn({2, 4})), folder / "closed.gv", {.module = net, .open = 1});
  for (const char* name : {"hostile.dot", "net.dot", "closed.gv"}) {
    const std::string out = folder / std::string(name) + ".svg", errors = out + ".err";
    const std::string call =
        "dot -Tsvg '" + (folder / name) + "' -o '" + out + "' 2>'" + errors + "'";
    EXPECT_EQ(std::system(call.c_str()), 0) << read(errors);
    EXPECT_EQ(read(errors), "") << name;
    EXPECT_NE(read(out).find("</svg>"), std::string::npos);
  }
  // A cluster for each module that has parameters below it.
  const std::string svg = read(folder / "net.dot.svg");
  EXPECT_EQ(count(svg, "class=\"cluster\""), 3u);
}

// The page spaces things out by itself: the same numbers must come out.
TEST(DrawFormats, PageAndPictureAgree) {
  if (!installed("node")) GTEST_SKIP() << "node is not installed: the page's script was not run";
  const Folder folder;
  nn::Sequential inner(nn::Linear(4, 4), nn::ReLU(), nn::Linear(4, 4));
  nn::Sequential net(inner, nn::Tanh(), nn::Linear(4, 2));
  const ModuleNotes notes;
  const Picture autograd = make_picture(net->forward(randn({2, 4})).sum(), {.module = net});
  Picture apart = hostile_picture();
  for (int i = 0; i < 5; ++i) apart.boxes.push_back(apart.boxes[static_cast<size_t>(i)]);
  apart.lines.push_back({10, 12});
  const auto compare = [&](const Picture& p, int open) {
    std::ofstream(folder / "page.html") << html_text(p, open);
    std::ofstream(folder / "run.js") << R"JS(
const page = require('fs').readFileSync(process.argv[2], 'utf8');
const data = JSON.parse(/id="data">([\s\S]*?)<\/script>/.exec(page)[1]);
const script = /<script>\n([\s\S]*?)<\/script>/.exec(page)[1];
const {layout, unpack} = new Function(script + '\nreturn {layout, unpack};')();
const open = data.groups.map(g => g.open === 1);
const placed = layout(unpack(data), open);
const show = r => r ? [r.x, r.y, r.w, r.h].map(v => v.toFixed(3)).join(' ') : 'hidden';
for (const r of placed.boxes) console.log('box', show(r));
for (const r of placed.groups) console.log('group', show(r));
for (const w of placed.wires)
  console.log('wire', [w.x1, w.y1, w.y2, w.x2, w.y3, w.y4].map(v => v.toFixed(3)).join(' '),
              +w.dashed, +w.arrow, +w.upwards);
)JS";
    const std::string call = "node '" + (folder / "run.js") + "' '" + (folder / "page.html") +
                             "' >'" + (folder / "out") + "' 2>&1";
    ASSERT_EQ(std::system(call.c_str()), 0) << read(folder / "out");
    const Placement placed = place(p, arrange(p), p.open_groups(open));
    std::ostringstream want;
    char text[200];
    const auto rect = [&](const char* kind, const Rect& r) {
      std::snprintf(text, sizeof text, "%s %.3f %.3f %.3f %.3f\n", kind, r.x, r.y, r.w, r.h);
      want << (r.w > 0 ? text : std::string(kind) + " hidden\n");
    };
    for (const Rect& r : placed.boxes) rect("box", r);
    for (const Rect& r : placed.groups) rect("group", r);
    for (const Wire& w : placed.wires) {
      std::snprintf(text, sizeof text, "wire %.3f %.3f %.3f %.3f %.3f %.3f %d %d %d\n", w.x1, w.y1,
                    w.y2, w.x2, w.y3, w.y4, w.dashed, w.arrow, w.upwards);
      want << text;
    }
    EXPECT_EQ(read(folder / "out"), want.str());
  };
  for (const int open : {0, 1, 2, 5}) {
    SCOPED_TRACE(open);
    compare(autograd, open);
    compare(apart, open);
  }
}

TEST(DrawFormats, PageNeedsNothingElse) {
  const Tensor a = randn({2}, requires_grad());
  const std::string html = to_html(a.exp());
  EXPECT_EQ(count(html, "<link"), 0u);
  EXPECT_EQ(count(html, " src="), 0u);
  EXPECT_EQ(count(html, "@import"), 0u);
  EXPECT_EQ(count(html, "url("), 0u);
  EXPECT_EQ(count(html, "fetch("), 0u);
  // The only address is the name of SVG itself, which is not visited.
  EXPECT_EQ(count(html, "http"), count(html, "http://www.w3.org/2000/svg"));
  for (const char* part :
       {"leaf that needs a gradient", "backward function", "saved tensor", "result"})
    EXPECT_NE(html.find(std::string("</i>") + part + "</span>"), std::string::npos) << part;
}

TEST(DrawFormats, SameGraphGivesTheSameBytes) {
  const auto texts = [] {
    manual_seed(3);
    nn::Sequential net(nn::Linear(4, 4), nn::ReLU(), nn::Linear(4, 2));
    const ModuleNotes notes;
    const Tensor y = net->forward(randn({2, 4})).sum();
    const DrawOptions o{.module = net, .title = "net"};
    return std::vector<std::string>{to_svg(y, o), to_html(y, o), to_dot(y, o), to_svg(y)};
  };
  const auto once = texts();
  const std::vector<std::shared_ptr<int>> elsewhere(1000, std::make_shared<int>(1));
  EXPECT_EQ(texts(), once);
  EXPECT_EQ(wrong_in_xml(once[0]), "");
  // Nor do they depend on how the program likes its numbers.
  struct Grouped : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\1"; }
    char do_decimal_point() const override { return ','; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouped));
  const auto there = texts();
  std::locale::global(before);
  EXPECT_EQ(there, once);
}

TEST(DrawFile, ExtensionSaysWhatIsWritten) {
  const Folder folder;
  const Tensor y = randn({2}, requires_grad()).exp();
  for (const char* name : {"a.svg", "a.SVG"}) {
    draw(y, folder / name);
    EXPECT_EQ(read(folder / name), to_svg(y));
  }
  for (const char* name : {"a.html", "a.htm"}) {
    draw(y, folder / name);
    EXPECT_EQ(read(folder / name), to_html(y));
  }
  for (const char* name : {"a.dot", "a.gv"}) {
    draw(y, folder / name);
    EXPECT_EQ(read(folder / name), to_dot(y));
  }
  for (const char* name : {"a.png", "a", "a.svg/", ".svg.bak"}) {
    const std::string message = error_of<ValueError>([&] { draw(y, folder / name); });
    EXPECT_NE(message.find("draw: '"), std::string::npos);
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }
}

TEST(DrawFile, IsWrittenAsAWholeOrNotAtAll) {
  const Folder folder;
  const Tensor y = randn({2}, requires_grad()).exp();
  const std::string path = folder / "graph.svg";
  std::ofstream(path) << "old";
  // Whatever goes wrong before there is something to write leaves the old file.
  EXPECT_THROW(draw(randn({2}), path), Error);
  EXPECT_THROW(draw(y, path, {.max_nodes = 1}), Error);
  EXPECT_EQ(read(path), "old");
  // The new one takes its place: whoever has the old one open goes on reading that.
  std::ifstream reader(path);
  draw(y, path);
  std::string seen;
  std::getline(reader, seen);
  EXPECT_EQ(seen, "old");
  EXPECT_EQ(read(path), to_svg(y));
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
    EXPECT_EQ(entry.path().filename(), "graph.svg");
  }
  EXPECT_EQ(files, 1u);
}

TEST(DrawFile, WhereNothingCanBeWrittenIsNamed) {
  const Folder folder;
  const Tensor y = randn({2}, requires_grad()).exp();
  const std::string missing = folder / "no_such_folder/graph.svg";
  const std::string message = error_of<FileError>([&] { draw(y, missing); });
  EXPECT_EQ(message.rfind("draw: ", 0), 0u) << message;
  EXPECT_NE(message.find(missing), std::string::npos) << message;
  std::filesystem::create_directory(folder / "folder.svg");
  EXPECT_NE(error_of<FileError>([&] { draw(y, folder / "folder.svg"); }).find("is a folder"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem::inspect
