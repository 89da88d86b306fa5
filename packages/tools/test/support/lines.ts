/** Makes lines of bash of all kinds, for tests that look at many. */
import * as FastCheck from "effect/FastCheck"
import { standIns } from "./executed.ts"

type Text = FastCheck.Arbitrary<string>

const one = (...each: ReadonlyArray<string>): Text => FastCheck.constantFrom(...each)

/** A text made of others: `lines.join` of what each gives. */
const all = (...parts: ReadonlyArray<Text | string>): Text =>
  FastCheck.tuple(...parts.map((part) => (typeof part === "string" ? FastCheck.constant(part) : part))).map((each) =>
    each.join("")
  )

const blank = FastCheck.oneof({ arbitrary: one(" "), weight: 6 }, {
  arbitrary: one("  ", "\t", " \\\n", "\\\n "),
  weight: 1
})

/** One name in one of the ways to write it. */
const spelt = (name: string): Text => {
  const [first = "", rest = ""] = [name.slice(0, 1), name.slice(1)]
  const ways = [
    name,
    `'${name}'`,
    `"${name}"`,
    `\\${name}`,
    `${first}""${rest}`,
    `${first}\\\n${rest}`,
    `$'${name}'`,
    `"${first}"'${rest}'`
  ]
  return FastCheck.oneof({ arbitrary: FastCheck.constant(name), weight: 6 }, { arbitrary: one(...ways), weight: 2 })
}

/** Words that are known before a line runs. */
const plain = one(
  "a",
  "b.txt",
  "'c d'",
  "\"e f\"",
  "-x",
  "--long=1",
  "g\\ h",
  "'#'",
  "\"it's\"",
  "''",
  "$'i\\tj'",
  "k#l",
  "x=1",
  "'$(touch a)'",
  "\"\\$(touch a)\"",
  "\\`",
  "}",
  "src"
)

const program = FastCheck.oneof(
  { weight: 9, arbitrary: FastCheck.constantFrom(...standIns.filter((name) => name !== "git")).chain(spelt) },
  { weight: 1, arbitrary: one("git status", "git log", "'git' diff") }
)

const before = FastCheck.oneof(
  { weight: 9, arbitrary: one("") },
  { weight: 1, arbitrary: one("LC_ALL=C ", "</dev/null ", "2>&1 ", "NO_COLOR= ") }
)

const after = FastCheck.oneof(
  { weight: 6, arbitrary: one("") },
  { weight: 1, arbitrary: one(" 2>&1", " >/dev/null", " 2>/dev/null", " <<<a", " # alpha z\n") }
)

const simple: Text = all(
  before,
  program,
  FastCheck.array(all(blank, plain), { maxLength: 3 }).map((each) => each.join("")),
  after
)

const wrapper = one(
  "env ",
  "env LC_ALL=C ",
  "nice ",
  "nice -n 5 ",
  "timeout 5 ",
  "timeout -k 1 5 ",
  "nohup ",
  "command ",
  "stdbuf -oL ",
  "setsid -w ",
  "time ",
  "! ",
  "builtin command ",
  "\\command "
)

const here = one(
  " <<A\nplain $(alpha q)\nA\n",
  " <<'A'\n$(alpha q)\nA\n",
  " <<-A\n\t`beta q`\n\tA\n",
  " <<A <<B\n$(alpha 1)\nA\n$(beta 2)\nB\n",
  " <<A\n\\$(alpha q)\nA\n",
  " <<A\nx\\\nA\nA\n",
  " <<A\nx ${x:-\"$(beta 3)\"}\nA\n"
)

/** A value that begins like a list, before what goes on with it. */
const listed = all(
  one("", "declare ", "export ", "x=1 "),
  one("a=", "a+=", "a[0]=", "a=\\\n"),
  one("()", "(", "(b)", "(b c", "( `alpha` )", "($(beta))", "(\"b)\"", "(b # )\n)")
)

const sign = one("; ", " && ", " || ", " | ", "\n", ";", "|", "&&", " |& ")

/** What is rarely written. */
const odd = one(
  "((1)) && alpha",
  "echo $((1 + 2)) $[3]",
  "((alpha); beta)",
  "echo $( (alpha); beta)",
  "alias ls=alpha; ls",
  "shopt -s expand_aliases\nalias ls=alpha\nls",
  "alpha \u00e9 \u00a0 \u3000b",
  "alpha\tb\r",
  "alpha\r\nbeta\r",
  "alpha {a,b}{1..2} {'c',d}",
  "echo {a,{b,c}} a{1..3}",
  "{ alpha; } 2>&1 | { beta; }",
  "for ((i = 0; 1 < 0; )) do alpha; done",
  "for i in a; { alpha; }",
  "select i in a; do alpha; break; done <<< 1",
  "[[ a =~ (a|b) && a < b ]] && alpha",
  "[[ a == @(a|b) || ! -f b ]] || alpha",
  "alpha a\\\n b \\\n#c\nbeta",
  "alpha ${x#a} ${x%%b} ${x/a/b} ${#x} ${x^^}",
  "echo ${x#'}'} \"${x%\"}\"}\" ${x:+'a b'}",
  "alpha '' \"\" $'' a''b",
  "alpha $'a\\'b' \"a\\\"b\" 'a\"b'",
  "alpha \"$(beta \"$(gamma 'a)')\")\"",
  "alpha $(cat <<A\n)`beta`\nA\n)",
  "alpha $(beta # )\n)",
  "alpha $(case a in a) beta;; esac)",
  "cat <<'A B'\n$(alpha)\nA B",
  "cat <<A\\B\n$(alpha)\nAB",
  "cat <<\"A\"; alpha\n$(beta)\nA\ngamma",
  "cat <<A && beta\n${x:-`alpha`}\nA\ngamma",
  "cat <<< 'a' <<< \"$(alpha)\"",
  "! ! alpha",
  "time -p alpha",
  "coproc { alpha; }\nwait",
  "exec alpha b",
  "alpha & beta & wait",
  "if ! alpha; then :; elif beta; then gamma; fi",
  "function f { alpha; }\nf",
  "f() { alpha \"$@\"; }; f a",
  "true && { alpha || beta; } ; gamma",
  "alpha <&- 2>&1 >&2",
  "x=1 y=2",
  "x=alpha; \"$x\"",
  "set -e; alpha; beta",
  "test a = b || alpha",
  "alpha ;\n\n\n# beta\n\tgamma",
  "alpha |& beta",
  "command -v alpha",
  "builtin echo a",
  "readonly r=1; alpha",
  "printf '%s' a | alpha",
  "echo \"`alpha \"a b\"`\" `beta \\`gamma\\``"
)

type Kind = "command" | "list" | "value"

const { list } = FastCheck.letrec<Record<Kind, string>>((tie) => ({
  value: FastCheck.oneof(
    { maxDepth: 3, depthIdentifier: "value" },
    FastCheck.oneof(plain, one("$x", "\"$x\"", "*.txt", "${x:-a}", "${#x}", "$?", "{a,b}")),
    all("$(", tie("list"), ")"),
    all("\"$(", tie("list"), ")\""),
    all("\"a ${x:-$(", tie("list"), ")}\""),
    all("\"${x:-'$(", tie("list"), ")'}\""),
    all("`", one("alpha a", "beta", "gamma \\`alpha b\\`"), "`"),
    all("${x:-$(", tie("list"), ")}"),
    all("{a,$(", tie("list"), ")}")
  ),
  command: FastCheck.oneof(
    { maxDepth: 3, depthIdentifier: "command" },
    { weight: 4, arbitrary: simple },
    { weight: 2, arbitrary: all(wrapper, simple) },
    { weight: 3, arbitrary: all("echo ", tie("value"), blank, tie("value")) },
    { weight: 1, arbitrary: all(simple, here) },
    { weight: 1, arbitrary: all("echo ", tie("value"), here) },
    { weight: 1, arbitrary: all("x=", tie("value")) },
    { weight: 1, arbitrary: all("( ", tie("list"), " )") },
    { weight: 1, arbitrary: all("{ ", tie("list"), "; }") },
    { weight: 1, arbitrary: all("if ", tie("list"), "; then ", tie("list"), "; else ", tie("list"), "; fi") },
    { weight: 1, arbitrary: all("for i in ", tie("value"), "; do ", tie("list"), "; done") },
    { weight: 1, arbitrary: all("while ", simple, "\ndo ", tie("list"), "; break; done") },
    { weight: 1, arbitrary: all("case ", tie("value"), " in b) alpha;; *) ", tie("list"), ";; esac") },
    { weight: 1, arbitrary: all("f() { ", tie("list"), "; }; f") },
    { weight: 1, arbitrary: all("[[ -n ", tie("value"), " ]]") },
    { weight: 1, arbitrary: all("coproc ", simple, "\nwait") },
    { weight: 1, arbitrary: all(simple, " < <(", tie("list"), ")") },
    { weight: 2, arbitrary: odd },
    { weight: 1, arbitrary: all("until ", tie("list"), "; do break; done") },
    { weight: 1, arbitrary: all("for c in alpha 'beta gamma' ls; do $c ", plain, "; \"$c\" ", plain, "; done") },
    { weight: 1, arbitrary: all("for i in a b; do alpha \"$i\" ${i} x$i; ", tie("list"), "; done") },
    { weight: 1, arbitrary: all("f() ( ", tie("list"), " ); f a; f") },
    { weight: 1, arbitrary: all(listed, tie("value"), one(" ", "; ", "\n", " && ", ""), simple) },
    { weight: 1, arbitrary: all("f() { local ", listed, tie("value"), "; }; f") },
    { weight: 1, arbitrary: all("a=( ", tie("value"), blank, tie("value"), " ); ", simple) },
    { weight: 1, arbitrary: all("case a in (a) ", tie("list"), ";& b) ", simple, ";;& *) ", simple, "; esac") },
    { weight: 1, arbitrary: all("echo ", tie("value"), " # ", plain, " $(beta)\n", simple) }
  ),
  list: FastCheck.array(FastCheck.tuple(tie("command"), sign), { minLength: 1, maxLength: 3, size: "max" }).map((
    each
  ) => each.map(([command, next], at) => (at === each.length - 1 ? command : command + next)).join(""))
}))

/** What stands in a place where a command is, of which nobody can say what it runs. */
const unknown = one(
  "$x a",
  "\"$x\"",
  "$(beta) a",
  "`beta` a",
  "${x} a",
  "alph? a",
  "{alpha,a}",
  "$'\\u0061lpha' a",
  "/bin/al* a",
  "a$x",
  "eval a",
  "\"${x[@]}\"",
  "$1",
  "~/alpha"
)

const places: ReadonlyArray<(command: string) => string> = [
  (command) => command,
  (command) => `echo $(${command})`,
  (command) => `echo "a \${x:-$(${command})}"`,
  (command) => `if git status; then ${command}; fi`,
  (command) => `git log | ${command} | head`,
  (command) => `f() { ${command}; }; f`,
  (command) => `for i in 1; do ${command}; done`,
  (command) => `cat <<A\n$(${command})\nA`,
  (command) => `timeout 5 nice ${command}`,
  (command) => `x=1 ${command}`,
  (command) => `( ( ${command} ) )`,
  (command) => `cat <(${command})`,
  (command) => `echo a && { ${command}; } 2>&1`,
  (command) => `case a in a) ${command};; esac`,
  (command) => `! ${command} &`
]

/** Lines somewhere in which it is not known what is run. */
export const unknownLines: Text = FastCheck.tuple(
  unknown,
  FastCheck.array(FastCheck.constantFrom(...places), { minLength: 1, maxLength: 4 }),
  list,
  one("; ", " && ", "\n", " | ")
).map(([command, within, first, next]) => `${first}${next}${within.reduce((inner, place) => place(inner), command)}`)
