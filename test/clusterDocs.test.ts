/** The examples of docs/cluster.md: systemd accepts the unit, and the program knows the flags. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { root } from "../scripts/layout.mjs"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"

const guide = readFileSync(join(root, "docs", "cluster.md"), "utf8")
const unit = /```ini\n([^]*?)```/.exec(guide)?.[1] ?? ""
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0

describe("docs/cluster.md", () => {
  it.skipIf(!hasSystemd)("has a unit that systemd accepts", () => {
    const directory = mkdtempSync(join(tmpdir(), "skein-unit-"))
    atEnd(() => rmSync(directory, { recursive: true, force: true }))
    const file = join(directory, "skein.service")
    // Neither the program nor its user is on this machine.
    writeFileSync(file, unit.replace("/usr/local/bin/skein", process.execPath).replace("User=skein", "User=root"))
    const { status, stderr, stdout } = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" })
    expect([status, stdout + stderr]).toEqual([0, expect.not.stringContaining("skein.service")])
  })

  it("names only flags that the program has", async () => {
    const place = sandbox()
    atEnd(place.remove)
    const { stdout } = await place.run(["serve", "--help"])
    const used = [...guide.matchAll(/skein serve ([^]*?)(?:\n(?! )|```)/g)].flatMap(([, line = ""]) =>
      [...line.matchAll(/ (--[a-z-]+)/g)].map(([, flag = ""]) => flag)
    )
    expect(new Set(used)).toEqual(new Set(["--hostname", "--port", "--token-file", "--cluster-secret-file"]))
    for (const flag of used) expect(stdout).toContain(flag)
  })
})
