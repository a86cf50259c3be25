#include "report/html.hpp"

#include "tests/testing.hpp"

namespace dpreduce::html_test {

using nlohmann::json;

TEST(Escaped, LeavesNoCharacterThatCouldBeginOrEndAnythingAndKeepsTextOfAnyScript) {
  EXPECT_EQ(escaped("a<b>&\"c\"'d'"), "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;");
  EXPECT_EQ(escaped("Zürich 東京"), "Zürich 東京");
}

TEST(Escaped, ReplacesControlCharactersAndBytesThatAreNoText) {
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(escaped("\x1b[31m"), "\xEF\xBF\xBD[31m");
  EXPECT_EQ(escaped("\xC2\x9B"
                    "31m"),
            "\xEF\xBF\xBD"
            "31m")
      << "C1";
  EXPECT_EQ(escaped("\xFF<"), "\xEF\xBF\xBD&lt;");
  EXPECT_EQ(escaped("\xC3<"), "\xEF\xBF\xBD&lt;") << "half a character takes the next one with it";
  EXPECT_EQ(escaped("line\nnext\ttab"), "line\nnext\ttab");
}

TEST(HtmlOfWords, SetsPowersOfTenAndNoOtherText) {
  EXPECT_EQ(html_of_words("at delta 1e-06"), "at delta 10<sup>−6</sup>");
  EXPECT_EQ(html_of_words("2.5e-07<3e+12"), "2.5·10<sup>−7</sup>&lt;3·10<sup>12</sup>");
  for (const char* other : {"0.5e", "a1e-06", "1e-06b", "12e-06", "e-06", "1e06f3"})
    EXPECT_EQ(html_of_words(other), other);
  // A hostile document may hold long runs of digits.
  const std::string zeros(1 << 20, '0');
  EXPECT_EQ(html_of_words("1e-" + zeros), "1e-" + zeros);
  EXPECT_EQ(html_of_words("1." + zeros), "1." + zeros);
}

TEST(Embedded, IsTheSameJsonWithoutACharacterOfMarkup) {
  const json hostile{{"</script><script>alert(1)</script>", "<!-- & \xE2\x80\xA8 ü"}};
  const std::string text = embedded(hostile);
  EXPECT_EQ(json::parse(text), hostile);
  for (const char c : text)
    EXPECT_TRUE(c != '<' && c != '>' && c != '&' && static_cast<unsigned char>(c) < 0x80) << text;
}

TEST(Figure, HoldsTheExactNumberBesideTheRoundedOne) {
  const std::tuple<Cell, const char*, const char*> figures[] = {
      {figure(0.1234567890123), "0.1234567890123", "0.123"},
      {figure(17287.4), "17287.4", "17,287"},
      {figure(-1234567.8), "-1234567.8", "-1,234,568"},
      {figure(999.4), "999.4", "999"},
      {figure(42), "42", "42"},
      {figure(12000), "12000", "12,000"},
      {figure(2000000001), "2000000001", "2000000001"},
      {Cell(1.0624, Written::kShareAtMost), "1.0624", "107 %"},
      {Cell(0.00624, Written::kShareAtMost), "0.00624", "0.63 %"},
      {percent(0.9666666666666667), "0.9666666666666667", "96.7 %"}};
  for (const auto& [cell, exact, shown] : figures) {
    EXPECT_EQ(html_of(cell), fmt::format("<data value=\"{}\">{}</data>", exact, shown));
  }
  for (const Cell& none : {figure(json()), percent(json())}) EXPECT_EQ(html_of(none), "–");
  EXPECT_THROW(html_of(figure("1")), std::logic_error);
}

TEST(Table, HasACaptionHeadingsAndCanBeScrolledByKeyboard) {
  Table table{.caption = "Figures & more", .columns = {"class", "recall"}};
  EXPECT_EQ(html_of(table), "");
  table.add({"<b>", percent(0.5)});
  const std::string html = html_of(table);
  EXPECT_THAT(html, HasSubstr("<caption>Figures &amp; more</caption>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">class</th><th scope=\"col\" class=\"number\">recall</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\"><bdi>&lt;b&gt;</bdi></th>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"number\"><data value=\"0.5\">50.0 %</data></td>"));
  EXPECT_THAT(html, HasSubstr("role=\"region\" aria-label=\"Figures &amp; more\" tabindex=\"0\""));
  EXPECT_THROW(table.add({"one cell"}), std::logic_error);
}

TEST(ChartHtml, HoldsWhatToDrawAndATableThatIsOpenWithoutScripts) {
  Table values{.caption = "Values", .columns = {"x", "y"}};
  values.add({"1", figure(2)});
  const std::string html = html_of(Chart{.title = "A <title>",
                                         .caption = "Read it so",
                                         .spec = {{"chart", "lines"}, {"series", json::array({"</script>"})}},
                                         .values = std::move(values)});
  EXPECT_THAT(html, HasSubstr("<figure data-chart=\"lines\">"));
  EXPECT_THAT(html, HasSubstr("<details open>"));
  EXPECT_THAT(html, HasSubstr("<data value=\"2\">"));
  EXPECT_THAT(html, HasSubstr("\"label\":\"A \\u003ctitle\\u003e. Read it so\""));
  EXPECT_EQ(html.find("</script>"), html.rfind("</script>"));
}

}  // namespace dpreduce::html_test
