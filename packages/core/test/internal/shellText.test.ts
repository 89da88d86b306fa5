import { expect, it } from "@effect/vitest"
import { share } from "@skein/testing/Seeds"
import * as fc from "effect/FastCheck"
import { spawnSync } from "node:child_process"
import { placesIn, shellLine } from "../../src/internal/command/template.ts"

/** The arguments of programs in a line: `show` writes each of its arguments. */
const run = (line: string, args: ReadonlyArray<string>): string => {
  const { error, stderr, stdout } = spawnSync("bash", ["-c", `show() { printf '<%s>' "$@"; }\n${line}`, "_", ...args], {
    encoding: "utf8",
    cwd: "/"
  })
  return error === undefined ? `${stdout}${stderr}` : String(error)
}

const words = ["\"; touch PWNED; #", "$(touch PWNED)", "`touch PWNED`", "don't", "*", "a  b", "$1", "\\", "!x", "~"]

it.each([
  ["show $ARGUMENTS", ["a b", "*"], "<a b><*>"],
  ["show \"$ARGUMENTS\"", ["a b", "c"], "<a b c>"],
  ["show x$1y \"x$2\"", ["1", "2", "3"], "<x1y><x2 3>"],
  ["show $2 end", ["1"], "<end>"],
  ["show '$1' \\$1 $$1", ["x"], undefined],
  ["awk 'BEGIN {print $1}' /dev/null; show $1", ["x"], "\n<x>"],
  ["show \"$(printf %s \"$1\")\"", ["a  b"], "<a  b>"],
  ["show $10", ["1", "2", "3", "4", "5", "6", "7", "8", "9", "ten", "eleven"], "<ten><eleven>"]
])("%s with %j", (text, args, output) => {
  const places = placesIn(text).map((number) => number ?? 0)
  const { command } = shellLine(text, args, Math.max(0, ...places))
  const found = run(command, args)
  if (output === undefined) expect(found.replace(/\d+1>$/, "PID1>")).toBe("<$1><$1><PID1>")
  else expect(found).toBe(output)
})

it("passes arguments to programs unchanged, whatever they contain, and shows the effective line", () => {
  const text = fc.constantFrom(
    "show $1",
    "show \"$1\"",
    "show a$1b \"c $ARGUMENTS d\"",
    "show $ARGUMENTS x $2 \"$3\" 'y $1'"
  )
  fc.assert(
    fc.property(text, fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 8 })), { maxLength: 3 }), (
      line,
      args
    ) => {
      fc.pre(!args.some((arg) => arg.includes("\0")))
      const highest = Math.max(0, ...placesIn(line).map((number) => number ?? 0))
      const { command, shown } = shellLine(line, args, highest)
      expect(run(command, args)).toBe(run(shown, []))
    }),
    { numRuns: share(60) }
  )
  const { command } = shellLine("show $ARGUMENTS", words, 0)
  expect(run(command, words)).toBe(words.map((word) => `<${word}>`).join(""))
})

it("shows the line unchanged if quotes alone do not determine its arguments", () => {
  for (const text of ["cat <<$1\n$1\n$1", "x $(y $1)", "echo $((1 + $1))", "a # $1", "x ${y:-$1}"]) {
    const { command, shown } = shellLine(text, ["$(touch PWNED)"], 1)
    expect(shown, text).toBe(command)
    expect(command, text).not.toContain("PWNED")
  }
})
