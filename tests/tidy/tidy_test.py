"""Each rule of tidy.py on small strings: python3 tests/tidy/tidy_test.py"""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import functions
import includes
import source
import source_groups
import tidy


def lines(found):
    return [line for line, _ in found]


class SourceTest(unittest.TestCase):
    def test_blanks_comments_and_literals_and_keeps_lines(self):
        text = 'int a; // {\n/* }\n */ auto s = "{\\"}"; char c = \'{\'; auto r = R"x({\n)x"; int n = 1\'000;\n'
        code = source.blank(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertNotIn("{", code)
        self.assertNotIn("}", code)
        self.assertIn("1'000", code)

    def test_finds_our_files_and_no_others(self):
        with tempfile.TemporaryDirectory() as root:
            for path in ("src/base/a.h", "third_party/b.h", "build/c.h", "tests/data/d.json", "Makefile", "e.gguf"):
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8"):
                    pass
            self.assertEqual(source.our_files(root), ["Makefile", "src/base/a.h"])


class SourceGroupsTest(unittest.TestCase):
    def grouped(self, *texts, **more):
        with tempfile.TemporaryDirectory() as root:
            paths = [os.path.join(root, f"{number}.cc") for number in range(len(texts))]
            for path, text in zip(paths, texts):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return [[int(os.path.basename(path)[:-3]) for path in members]
                    for members in source_groups.groups(paths, **more)]

    def test_finds_what_a_file_keeps_to_itself(self):
        text = "namespace a {\nint outside();\nnamespace {\n\nusing Rows = std::vector<int>;\nusing std::string;\n" \
               "constexpr int kLimit = f(1);\nenum b_kind kind_of(int n);\nbool operator==(Row a, Row b);\nconst char* const kNames[] = {\n    \"x\"};\nstruct Row : Base {\n  int inside;\n};\n" \
               "// Comment(\nstd::map<int, Row> rows_of(const Rows& rows,\n                           int n) {\n  return {};\n}\n\n" \
               "template <typename T>\nvoid add(T& t) {\n}\nTEST(Suite, Name) {\n}\n\n}  // namespace\n\nint after() {\n}\n}\n"
        self.assertEqual(source_groups.unnamed_names(text), {"Rows", "kLimit", "kind_of", "kNames", "Row", "rows_of", "add"})
        self.assertEqual(source_groups.unnamed_names("int main(int argc, char** argv) {\n}\n"), {"main"})

    def test_a_name_that_one_keeps_to_itself_is_not_mentioned_by_another(self):
        own = "namespace {\nint total() {\n}\n}  // namespace\n"
        self.assertEqual(self.grouped(own, "int a;\n", own, "int b = total();\n", "// total\n"), [[0, 1, 4], [2], [3]])

    def test_groups_have_a_size_and_macros_stay_alone(self):
        self.assertEqual(self.grouped("", "", "", "#define A 1\n", "", group_max=2), [[0, 1], [2, 4], [3]])


class FunctionsTest(unittest.TestCase):
    def measure(self, text):
        return [(first, count) for first, count, _ in functions.cpp_functions(text)]

    def test_measures_functions_in_namespaces_and_classes(self):
        text = "namespace a {\nclass B final : public C {\n public:\n  B() : b_{1}, c_(2) {\n  }\n" \
               "  int f() const override {\n    if (x) {\n    }\n    return 1;\n  }\n  int b_{0};\n};\n}\n"
        self.assertEqual(self.measure(text), [(4, 1), (4, 2), (6, 5)])

    def test_tables_and_types_are_no_functions(self):
        self.assertEqual(self.measure("const int kA[] = {\n1,\n2};\nenum class E {\nkA,\n};\nstruct S {\nint a;\n};\n"), [])
        self.assertEqual(self.measure('class CAPABILITY("mutex") Mutex {\n};\nextern "C" {\n}\n'), [])
        self.assertEqual(self.measure("template <typename T, int n = f(1)>\nstruct S {\n};\n"), [])

    def test_directives_do_not_upset_the_count(self):
        self.assertEqual(self.measure("#define BEGIN {\\\n {\nvoid f() {\n}\n"), [(3, 2)])

    def test_lambdas_count_with_their_function(self):
        self.assertEqual(self.measure("void f() {\n  auto g = [&](int a) {\n    return a;\n  };\n}\n"), [(1, 5)])

    def test_python_functions_include_nested_ones(self):
        found = functions.python_functions("def a():\n  def b():\n    pass\n  return b\n")
        self.assertEqual(sorted(found), [(1, 4, "a"), (2, 2, "b")])


class IncludesTest(unittest.TestCase):
    def refuses(self, path, name, quoted=True):
        self.assertIsNotNone(includes.complaint(path, name, quoted), f"{path} took {name}")

    def takes(self, path, name, quoted=True):
        self.assertIsNone(includes.complaint(path, name, quoted), f"{path} refused {name}")

    def test_comments_hold_no_includes(self):
        self.assertEqual(includes.includes('// #include "a.h"\n#include "base/a.h"\n # include <map>\n'),
                         [(2, "base/a.h", True), (3, "map", False)])

    def test_rooms(self):
        self.takes("src/service/decider.cc", "engine/scheduler.h")
        self.takes("src/decision/prompt.cc", "assay/decision.h")
        self.refuses("src/decision/prompt.cc", "engine/job.h")
        self.refuses("src/engine/job.h", "decision/prompt.h")
        self.takes("src/engine/job.h", "assay/options.h")
        self.refuses("src/engine/job.h", "assay/decider.h")
        self.refuses("src/base/clock.h", "engine/job.h")
        self.refuses("src/server/routes.cc", "service/decider.h")
        self.refuses("src/cli/decide.cc", "engine/job.h")
        self.takes("src/cli/main.cc", "engine/job.h")
        self.refuses("include/assay/decider.h", "base/clock.h")
        self.takes("src/kernels/dot.cc", "kernels/unit.h")
        self.refuses("src/attic/old.cc", "base/clock.h")
        self.refuses("src/stray.cc", "base/clock.h")

    def test_tests_and_programs(self):
        self.takes("src/service/decider_test.cc", "engine/testing/fake_decoder.h")
        self.takes("src/server/routes_test.cc", "service/testing/fake_decider.h")
        self.refuses("src/server/routes_test.cc", "service/decider.h")
        self.refuses("src/server/routes.cc", "service/testing/fake_decider.h")
        self.takes("tests/golden_test.cc", "engine/job.h")
        self.takes("bench/readout.cc", "engine/job.h")
        self.takes("src/base/clock_test.cc", "gtest/gtest.h", False)
        self.takes("src/engine/testing/fixtures.h", "gtest/gtest.h", False)
        self.refuses("src/base/clock.cc", "gtest/gtest.h", False)
        self.takes("src/base/clock_bench.cc", "benchmark/benchmark.h", False)
        self.refuses("src/base/clock_test.cc", "benchmark/benchmark.h", False)

    def test_third_parties_have_their_files(self):
        self.takes("src/engine/llama_decoder.cc", "llama.h")
        self.takes("src/engine/llama_template.cc", "jinja/runtime.h")
        self.takes("src/server/http/http_protocol.cc", "cpp-httplib/httplib.h", False)
        self.refuses("src/server/routes.cc", "cpp-httplib/httplib.h", False)
        self.refuses("src/server/http/http_server.cc", "server-http.h")
        self.refuses("src/engine/scheduler.cc", "ggml-backend.h")
        self.takes("src/kernels/testing/ggml_device_case.h", "ggml-backend.h")
        self.refuses("src/kernels/unit.h", "ggml.h")
        self.refuses("src/server/routes.cc", "server-http.h")
        self.takes("src/server/wires/wire_decide.cc", "nlohmann/json.hpp", False)
        self.takes("src/service/check_file.cc", "nlohmann/json.hpp", False)
        self.refuses("src/server/routes.cc", "nlohmann/json.hpp", False)
        self.refuses("src/server/wires/wire.h", "nlohmann/json_fwd.hpp", False)
        self.takes("src/base/log.cc", "spdlog/spdlog.h", False)
        self.refuses("src/base/log.h", "fmt/format.h", False)
        self.takes("src/base/sha256.cc", "hash/hash.h")
        self.takes("src/cli/flags.h", "CLI/CLI.hpp", False)
        self.refuses("src/server/flags.cc", "CLI/CLI.hpp", False)

    def test_what_is_neither_ours_nor_known(self):
        self.takes("src/base/clock.cc", "sys/mman.h", False)
        self.takes("src/engine/job.cc", "vector", False)
        self.refuses("src/base/clock.cc", "boost/asio.hpp", False)
        self.refuses("src/base/clock.cc", "clock.h")
        self.refuses("include/assay/options.h", "unistd.h", False)
        self.refuses("src/decision/prompt.cc", "mutex", False)
        self.takes("src/decision/prompt_test.cc", "fstream", False)


class RulesTest(unittest.TestCase):
    def test_file_length(self):
        self.assertEqual(tidy.file_length("src/base/a.cc", "\n" * 400), [])
        self.assertEqual(lines(tidy.file_length("src/base/a.cc", "\n" * 401)), [401])
        self.assertEqual(lines(tidy.file_length("src/base/a.h", "\n" * 201)), [201])
        self.assertEqual(tidy.file_length("docs/a.md", "\n" * 999), [])

    def test_function_length(self):
        body = "  x();\n" * 68
        self.assertEqual(tidy.function_length("src/base/a.cc", "void f() {\n" + body + "}\n"), [])
        self.assertEqual(lines(tidy.function_length("src/base/a.cc", "\nvoid f() {\n  x();\n" + body + "}\n")), [2])
        self.assertEqual(lines(tidy.function_length("tools/a.py", "def f():\n" + "  x()\n" * 70)), [1])
        self.assertEqual(lines(tidy.function_length("tools/a", "#!/usr/bin/env python3\ndef f():\n" + "  x()\n" * 70)), [2])

    def test_include_rules_name_the_line(self):
        self.assertEqual(lines(tidy.include_rules("src/base/a.cc", '\n#include "engine/job.h"\n')), [2])
        self.assertEqual(tidy.include_rules("docs/a.md", '#include "engine/job.h"\n'), [])

    def test_shadowing_names(self):
        self.assertEqual(lines(tidy.shadowing_names("common.h", "")), [1])
        self.assertEqual(lines(tidy.shadowing_names("src/log.h", "")), [1])
        self.assertEqual(tidy.shadowing_names("src/base/log.h", ""), [])

    def test_header_beginning(self):
        self.assertEqual(tidy.header_beginning("a.h", "#pragma once\n// What it is.\n"), [])
        self.assertEqual(lines(tidy.header_beginning("a.h", "// What it is.\n#pragma once\n")), [1])
        self.assertEqual(lines(tidy.header_beginning("a.h", "#pragma once\nint a;\n")), [1])
        self.assertEqual(lines(tidy.header_beginning("a.h", "")), [1])

    def test_no_cout(self):
        self.assertEqual(lines(tidy.no_cout("src/engine/a.cc", "std::cout << 1;")), [1])
        self.assertEqual(tidy.no_cout("src/cli/a.cc", "std::cout << 1;"), [])
        self.assertEqual(tidy.no_cout("src/engine/a.cc", "// std::cout"), [])

    def test_no_sleep_no_detach(self):
        self.assertEqual(lines(tidy.no_sleep("src/a.cc", "\nstd::this_thread::sleep_for(1ms);")), [2])
        self.assertEqual(tidy.no_sleep("src/a.cc", "// never sleep(1)\nint sleeper(int);"), [])
        self.assertEqual(lines(tidy.no_detach("src/a.cc", "worker.detach();\np->detach();")), [1, 2])
        self.assertEqual(tidy.no_detach("src/a.cc", "detach_option();"), [])

    def test_no_reminders(self):
        self.assertEqual(lines(tidy.no_reminders("a.md", "a\nTO" "DO: b\n// FIX" "ME")), [2, 3])
        self.assertEqual(tidy.no_reminders("a.md", "a todo list, MASTODON\n"), [])

    def test_no_disabled_tests(self):
        self.assertEqual(lines(tidy.no_disabled_tests("a_test.cc", "TEST(A, DISABLED" "_B) {}")), [1])
        self.assertEqual(lines(tidy.no_disabled_tests("a_test.cc", "  GTEST_SKIP();")), [1])
        self.assertEqual(tidy.no_disabled_tests("a_test.cc", '  GTEST_SKIP() << "no GPU";'), [])

    def test_no_trailing_space(self):
        self.assertEqual(lines(tidy.no_trailing_space("a.md", "a\nb \n\t\nc")), [2, 3])

    def test_no_home_paths(self):
        self.assertEqual(lines(tidy.no_home_paths("a.sh", "cd /ro" "ot/x\ncd /ho" "me/me/x\ncd /opt/ml\ncd $A/work/x")), [1, 2])

    def test_no_vague_types(self):
        self.assertEqual(lines(tidy.no_vague_types("a.h", "class CacheManager {};\nstruct StringUtil;\n")), [1, 2])
        self.assertEqual(tidy.no_vague_types("a.h", "struct Utilization {};\n// class Manager\n"), [])

    def test_no_unused_names(self):
        text = "namespace {\nconstexpr int kUsed = 1;\nconstexpr int kLeft = 2;\nvoid left_too() {\n}\n}  // namespace\n" \
               "int f() { return kUsed; }  // kLeft\nint main() {}\n"
        self.assertEqual(lines(tidy.no_unused_names("a.cc", text)), [3, 4])
        self.assertEqual(tidy.no_unused_names("a.md", text), [])

    def test_no_registry_hosts(self):
        self.assertEqual(lines(tidy.no_registry_hosts("a", "\nget https://pypi" ".org/x")), [2])
        self.assertEqual(tidy.no_registry_hosts("a", "a package of PyPI"), [])


class MainTest(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as out:
                    out.write(text)
            output, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")
            try:
                return tidy.main(root)
            finally:
                sys.stdout.close()
                sys.stdout = output

    def test_exit_code(self):
        self.assertEqual(self.run_on({"src/base/a.cc": "int a;\n"}), 0)
        self.assertEqual(self.run_on({"src/base/a.cc": "int a; \n"}), 1)
        self.assertEqual(self.run_on({}), 1)

    def test_an_exception_counts_for_its_rule_and_file_only(self):
        tidy.ALLOWED["no-trailing-space"] = {"src/base/a.cc": "a test"}
        try:
            self.assertEqual(self.run_on({"src/base/a.cc": "int a; \n"}), 0)
            self.assertEqual(self.run_on({"src/base/b.cc": "int a; \n"}), 1)
        finally:
            del tidy.ALLOWED["no-trailing-space"]


if __name__ == "__main__":
    unittest.main()
