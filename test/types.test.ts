import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { expect, it } from "vitest"
import { root } from "../scripts/layout.mjs"

it("a floating Effect is a type error", () => {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc")
  const project = join(root, "test", "fixtures", "floating-effect")
  const { status, stdout } = spawnSync(process.execPath, [tsc, "--project", project, "--pretty", "false"], {
    encoding: "utf8"
  })
  expect(stdout.trim().split("\n")).toEqual([
    expect.stringMatching(/floating\.ts\(5,3\): error .*effect\(floatingEffect\)$/)
  ])
  expect(status).not.toBe(0)
})
