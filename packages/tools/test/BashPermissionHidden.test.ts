import { describe, expect, layer } from "@effect/vitest"
import { defaultRules } from "@skein/core/Agent"
import * as Effect from "effect/Effect"
import { describeDecisions } from "./support/bashClasses.ts"
import { decided, layerDecisions } from "./support/decisions.ts"

const hidden = [
  "a=()`id`; ls",
  "a=($(id))x; ls",
  "a=()$(id); ls",
  "a=()\"$(id)\"; ls",
  "a=()\"`id`\"",
  "a=(b)${x:-$(id)}; ls",
  "a=()$((a[$(id)])); ls",
  "a=()$[a[`id`]]; ls",
  "a=()<(id); ls",
  "a=(`id`)>(id)x; ls",
  "a+=()`id`; ls",
  "a[0]=()`id`; ls",
  "a=\\\n()`id`; ls",
  "a=()`id` ls",
  "a=() b=()`id` ls",
  "LC_ALL=()`id` ls",
  "declare a=()`id`",
  "declare -a a=(b)\"$(id)\"",
  "export x=($(id))y",
  "f() { local x=()`id`; }; f",
  "readonly x=()$(id)",
  "typeset x=()$(id)",
  "{ a=()`id`; }",
  "( a=()`id` )",
  "f() { a=()`id`; }; f",
  "coproc { a=()`id`; }",
  "if a=()`id`; then ls; fi",
  "for i in 1; do a=()`id`; done",
  "case a in a) a=()`id`;; esac",
  "ls $(a=()`id`)",
  "ls `a=()\\`id\\``",
  "ls <(a=()`id`)",
  "ls \"${x:-$(a=()`id`)}\"",
  "cat <<A\n$(a=()`id`)\nA",
  "! a=()`id`",
  "a=()`id` && ls",
  "a=()`id` | ls",
  "time a=()`id`",
  "a=(b c)d",
  "a=(b",
  "a=()x)",
  "a=()$(id; echo )",
  "a=(b)\\\n$(id)"
]

describeDecisions("variables of what only lists, and of make", "ask", [
  "PIP_PYTHON=./x pip list",
  "npm_config_prefix=x npm ls",
  "make RM=evil clean",
  "make CROSS_COMPILE=x-"
])

describeDecisions("commands in a value that begins like a list and goes on after it", "ask", hidden)

/** Lines that are read in different ways by different shells, or that no parser has to get right. */
describeDecisions("expansions that are written strangely", "ask", [
  "echo $\\\n(echo a)",
  "[[ a == @(a|$(echo b)) ]] && ls",
  "echo a@(b|c)",
  "((ls); ls)",
  "echo $((ls); ls)",
  "cat <<A $(ls\nls)\nA\nA",
  "ls <&-\"a b\"",
  "ls >&-a",
  "x=--compress-program=y; sort $\\\nx",
  "ls \"$\\\nx\"",
  "cat <<A\n$\\\n(ls)\nA",
  "x\\\n=1 ls",
  "ls 2\\\n>&1",
  "2\\\n>&1 ls",
  "echo `echo \\`wc \\\\\\\n; ls\\``",
  "cat <<A\n$(echo # \\\nb)\nls)\nA",
  "(\\\n(1))",
  "echo $(\\\n(1))"
])

const strict = [
  ["defaults", undefined],
  ["a denial of all but ls", { bash: { "*": "deny", "ls": "allow", "ls *": "allow" } }],
  ["a wildcard for everything", { "*": "allow", bash: { "*": "allow", "* *": "allow" } }]
] as const

describe("a value that begins like a list and goes on after it", () => {
  layer(layerDecisions)((it) => {
    it.effect.each(strict)("is never allowed under %s", ([, rules]) =>
      Effect.forEach(
        hidden,
        (line) =>
          Effect.map(
            decided(line, rules ?? defaultRules),
            (decision) => expect(decision, line).not.toBe("allow")
          ),
        { discard: true }
      ))
  })
})

describeDecisions("text that only looks like an expansion", "allow", [
  "a=(b c); ls",
  "a=(b 'c `d` $(e)' \"f\"); ls",
  "a=(\n  b\n  c\n); ls",
  "a='()`id`'; ls",
  "a=\\(\\`id\\`; ls",
  "echo 'a `b` $(c) <(d) >(e) ${f} $[g]'",
  "echo \"a \\`b\\` \\$(c) <(d) >(e) \\${f} \\$[g]\"",
  "echo $'a `b` $(c) <(d)'",
  "echo a # `b` $(c) <(d) ${e}",
  "# it's `a` $(b)\nls # \\\nls",
  "git commit -m 'Use `a` in $(b)'",
  "git commit -m \"List<(A)> and ->(b)\"",
  "cat <<'A'\n`b` $(c) <(d) ${e} # $(f)\nA",
  "cat <<-'A'\n\t`b` $(c)\n\tA",
  "cat <<A\n\\`b\\` \\$(c) <(d)\nA",
  "cat <<A\n<(d) it's >(e)\nA",
  "echo \"${x:-a}\" ${x} ${#x}",
  "echo $((1 <(2))) $((3 >(1)))",
  "echo $(echo a; echo `echo b`)",
  "echo \"$(echo \"`echo a`\")\"",
  "echo `echo \\`echo a\\``",
  "echo `echo a # b` $(echo c)",
  "echo $(echo a # `b`\n)",
  "echo {a,$(echo b)}",
  "[[ $x =~ ^(a|b)$ ]] && ls",
  "case $(echo a) in `echo a`) ls;; esac",
  "git log --format='%h `x`' && echo it\\'s $(echo a)"
])
