import { share } from "@skein/testing/Seeds"
import * as fc from "effect/FastCheck"
import { spawnSync } from "node:child_process"
import { expect, it } from "vitest"
import { takeApart } from "../../../src/internal/bash/takeApart.ts"

const piece = fc.constantFrom(
  ..."a b $x $(echo y) `echo z` ' \" \\ \\\\ \n \n\n EOF ) ( ; | & # é \t ${x:-y} $'a' <<B !".split(" "),
  "\\\n",
  " ",
  "E\"O\"F"
)

it("the text of a quoted here-document that cat writes is what bash hands on", () => {
  let compared = 0
  fc.assert(
    fc.property(fc.array(fc.array(piece, { maxLength: 8 }), { minLength: 0, maxLength: 4 }), (lines) => {
      const body = lines.map((line) => `${line.join("")}\n`).join("")
      const command = `printf '%s\\0' "<$(cat <<'EOF'\n${body}EOF\n)>"`
      const { invocations, unclear } = takeApart(command)
      const given = invocations.find(({ program }) => program === "printf")?.args.at(-1)
      // What is not said to be known may be anything.
      if (unclear !== undefined || given?.fixed !== true) return
      compared++
      const { stdout } = spawnSync("bash", ["-c", command], { encoding: "utf8", env: { PATH: "/usr/bin:/bin" } })
      expect(stdout).toBe(`${given.text}\0`)
    }),
    { seed: 7, numRuns: share(150) }
  )
  expect(compared).toBeGreaterThan(share(100))
})

it("such a text is known", () => {
  const { invocations } = takeApart("git commit -m \"$(cat <<'EOF'\nSay\n\n$what\n\nEOF\n)\"")
  expect(invocations.find(({ program }) => program === "git")?.pattern).toBe("git commit -m Say\n\n$what")
})
