/** Makes lines of bash by a seed, fast enough for millions: from a grammar, from loose tokens, and both spoilt. */

/** Numbers by chance, the same for the same seed. */
export type Random = (below: number) => number

/** A small generator (xorshift): millions of lines need many numbers, and always the same ones. */
export const randomOf = (seed: number): Random => {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  return (below) => {
    state ^= state << 13
    state >>>= 0
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state % below
  }
}

const one = (random: Random, from: ReadonlyArray<string>): string => from[random(from.length)] ?? ""

const programs = [
  "alpha",
  "beta",
  "gamma",
  "cat",
  "ls",
  "sort",
  "touch",
  "head",
  "wc",
  "tee",
  "git status",
  "git log",
  "rg",
  "echo",
  "echo"
]

const wrappers = [
  "env ",
  "env LC_ALL=C ",
  "nice ",
  "nice -n 5 ",
  "timeout 5 ",
  "nohup ",
  "command ",
  "stdbuf -oL ",
  "setsid -w ",
  "time ",
  "! ",
  "builtin command ",
  "xargs ",
  "find src -exec "
]

const words = [
  "a",
  "b.txt",
  "'c d'",
  "\"e f\"",
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
  "src",
  "a\\\nb",
  "\"a\\\nb\"",
  "$x",
  "\"$x\"",
  "${x}",
  "${x:-a}",
  "\"${x:-a}\"",
  "${#x}",
  "$?",
  "{a,b}",
  "*.txt",
  "a$",
  "$'\\''",
  "\"a'b\"",
  "'a\"b'",
  "[a]",
  "!",
  "^",
  "%",
  "a=(",
  "=(b)",
  "~",
  "\\\\",
  "'\\'",
  "\"\\\\\"",
  "é",
  "\u00a0",
  "a\r",
  "$((1+2))",
  "$[1]"
]

const separators = ["; ", " && ", " || ", " | ", "\n", ";", "|", "&&", " |& ", " & ", "\n\n", " # a\n", "\\\n; "]

const documents = [
  " <<A\nplain $(DEEP)\nA\n",
  " <<'A'\n$(alpha q)\nA\n",
  " <<-A\n\t`DEEP`\n\tA\n",
  " <<A <<B\n$(alpha 1)\nA\n$(DEEP)\nB\n",
  " <<A\n\\$(alpha q)\nA\n",
  " <<A\nx\\\nA\nA\n",
  " <<A\n${x:-\"$(DEEP)\"}\nA\n",
  " <<\\A && DEEP\n`alpha`\nA\n",
  " <<\"A B\"\n$(beta)\nA B\n",
  " <<A\nA \nA\n",
  " <<-A\n\t\tA\n"
]

const redirections = [
  " 2>&1",
  " >/dev/null",
  " 2>/dev/null",
  " <<<a",
  " <<<\"$(DEEP)\"",
  " </dev/null",
  " < <(DEEP)",
  " <&-",
  " {fd}>/dev/null"
]

/** Ways to put a list (`DEEP`), a word (`WORD`) or a command (`ONE`) into something else. */
const frames = [
  "echo $(DEEP)",
  "echo `DEEP`",
  "echo \"$(DEEP)\"",
  "echo \"a `DEEP` b\"",
  "echo \"a ${x:-$(DEEP)}\"",
  "echo ${x:-$(DEEP)}",
  "echo {a,$(DEEP)}",
  "( DEEP )",
  "{ DEEP; }",
  "if DEEP; then DEEP; else DEEP; fi",
  "for i in WORD; do DEEP; done",
  "while ONE\ndo DEEP; break; done",
  "until DEEP; do break; done",
  "case WORD in b) alpha;; *) DEEP;; esac",
  "case a in (a) DEEP;& b) ONE;;& *) ONE; esac",
  "f() { DEEP; }; f",
  "f() ( DEEP ); f a",
  "function f { DEEP; }; f",
  "[[ -n WORD ]] && ONE",
  "[[ a =~ ^(a|b)$ || a == WORD ]] && ONE",
  "coproc ONE\nwait",
  "x=WORD; ONE",
  "x=(WORD WORD); ONE",
  "x=(WORD)WORD; ONE",
  "a=WORD`DEEP` ONE",
  "a+=()$(DEEP)",
  "declare a=WORD",
  "declare -a a=(WORD)",
  "export LC_ALL=WORD; ONE",
  "echo <(DEEP) WORD",
  "cat <(DEEP)",
  "ONE > >(DEEP)",
  "echo ${x#WORD} ${x/a/WORD} ${x%%$(DEEP)}",
  "((1)) && ONE",
  "echo $( (DEEP); ONE)",
  "((DEEP); ONE)",
  "echo $((1)) $[2] $((DEEP))",
  "for ((i = 0; 1 < 0; )) do ONE; done",
  "select i in a; do ONE; break; done <<< 1",
  "set -e; ONE",
  "! { DEEP; }",
  "echo WORD # $(DEEP)\nONE",
  "echo `echo \\`DEEP\\``",
  "echo \"`echo \\\"WORD\\\"`\"",
  "echo \"${x:-'$(DEEP)'}\"",
  "for c in alpha 'beta gamma' ls; do $c WORD; \"$c\" WORD; done",
  "alias ls=alpha\nls",
  "eval ONE",
  "echo ${x@P} ${!x}",
  "a[0]=WORD ONE",
  "echo $\\\n(DEEP)",
  "echo a\\\n$(DEEP)",
  "if ! ONE; then :; elif ONE; then DEEP; fi",
  "{ ONE; } 2>&1 | { DEEP; }",
  "time -p ONE",
  "exec ONE",
  "git log $(DEEP)"
]

const simple = (random: Random): string => {
  let text = random(6) === 0 ? one(random, ["LC_ALL=C ", "</dev/null ", "2>&1 ", "NO_COLOR= ", "x=1 ", "a=WORD "]) : ""
  if (random(5) === 0) text += one(random, wrappers)
  const program = one(random, programs)
  const spelt = random(8) > 0
    ? program
    : one(random, [
      `'${program}'`,
      `"${program}"`,
      `\\${program}`,
      `${program.slice(0, 1)}""${program.slice(1)}`,
      `${program.slice(0, 1)}\\\n${program.slice(1)}`,
      `$'${program}'`
    ])
  text += spelt
  for (let left = random(4); left > 0; left--) {
    text += one(random, [" ", " ", " ", "  ", "\t", " \\\n"]) + one(random, words)
  }
  if (random(5) === 0) text += one(random, redirections)
  if (random(10) === 0) text += one(random, documents)
  return text
}

const fill = (random: Random, frame: string, depth: number): string =>
  frame.replace(/DEEP|WORD|ONE/g, (sign) =>
    sign === "DEEP"
      ? list(random, depth + 1)
      : sign === "ONE"
      ? fill(random, simple(random), depth + 1)
      : random(3) === 0 && depth < 3
      ? one(random, ["$(", "`", "\"$("]).replace(/^.*$/s, (open) =>
        open + list(random, depth + 2) + (open === "`" ? "`" : open === "$(" ? ")" : ")\""))
      : one(random, words))

const command = (random: Random, depth: number): string =>
  fill(random, depth < 4 && random(2) === 0 ? one(random, frames) : simple(random), depth)

const list = (random: Random, depth: number): string => {
  let text = command(random, depth)
  for (let left = random(depth > 1 ? 2 : 3); left > 0; left--) text += one(random, separators) + command(random, depth)
  return text
}

/** What the shell takes a line apart by: of these a line without a grammar is made. */
const tokens = [
  ..."\"'\\$`(){}[]<>|&;#!*?~=\n\t\r ".split(""),
  " ",
  " ",
  " ",
  "$(",
  "${",
  "<<A\n",
  "\nA\n",
  "<(",
  ">(",
  "((",
  "))",
  "[[",
  "]]",
  "$'",
  "$\"",
  "<<<",
  "<<-",
  "&&",
  "||",
  ";;",
  "a=",
  "a=(",
  "alpha",
  "beta",
  "ls",
  "if ",
  "then ",
  "fi",
  "do ",
  "done",
  "case ",
  " in ",
  "esac",
  "for ",
  "{ ",
  "; }",
  "\\\n",
  "x",
  "echo ",
  "1",
  "f() "
]

const loose = (random: Random): string => {
  let text = ""
  for (let left = 3 + random(14); left > 0; left--) text += random(3) === 0 ? one(random, words) : one(random, tokens)
  return text
}

/** Some signs are exchanged, left out or put in. */
const spoilt = (random: Random, line: string): string => {
  let text = line
  for (let left = 1 + random(3); left > 0; left--) {
    const at = random(text.length + 1)
    text = text.slice(0, at) + one(random, random(4) === 0 ? [""] : tokens) + text.slice(at + random(2))
  }
  return text
}

/** One line. */
export const randomLine = (random: Random): string => {
  switch (random(8)) {
    case 0:
      return loose(random)
    case 1:
      return `${command(random, 2)}${loose(random)}`
    case 2:
    case 3:
      return spoilt(random, list(random, 1))
    case 4: {
      const [first, second] = [list(random, 2), list(random, 2)]
      return first.slice(0, random(first.length + 1)) + second.slice(random(second.length + 1))
    }
    default:
      return list(random, 0)
  }
}
