/** The built program: the help of every command, and how to upgrade. */
import { expect, it, vi } from "vitest"
import { sandbox } from "./support/cli.ts"

vi.setConfig({ testTimeout: 60_000 })

/** The names below "Commands:", without aliases and operands. */
const commandsIn = (help: string): ReadonlyArray<string> =>
  (/^Commands:\n((?: {2}.*\n)+)/m.exec(help)?.[1] ?? "").trimEnd().split("\n").filter((line) => line !== "")
    .map((line) => line.trim().split(/[\s,]/)[0] ?? "")

it("--help of every command exits with 0, reads no config and opens no database", async () => {
  const place = sandbox({ files: { "skein.json": "{ this is no config" } })
  const start = { env: { SKEIN_DB: "/nowhere/at/all.db" } }
  const helpBelow = async (path: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
    const { code, stderr, stdout } = await place.run([...path, "--help"], start)
    expect({ path, code, stderr }).toEqual({ path, code: 0, stderr: "" })
    expect(stdout).toContain(["Usage: skein", ...path].join(" "))
    const below = await Promise.all(commandsIn(stdout).map((name) => helpBelow([...path, name])))
    return [path.join(" "), ...below.flat()]
  }
  try {
    const all = await helpBelow([])
    expect(all).toEqual(expect.arrayContaining(["run", "sessions prune", "tasks clean", "upgrade", "completions"]))
    const overview = (await place.run(["--help"], start)).stdout
    expect(overview).toMatch(/--plain {2,}Prints lines/)
    expect(overview).toMatch(/--resume {2,}Shows the sessions/)
    for (const flag of ["--plain", "--resume"]) {
      const { code, stderr } = await place.run([flag], start)
      expect(code).toBe(2)
      expect(stderr).toContain("its input and output have to be a terminal")
    }
    expect(await place.run(["help", "tasks", "stop"], start)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Usage: skein tasks stop ID")
    })
  } finally {
    place.remove()
  }
})

it("upgrade prints the line to run, without a database, and exits with 0", async () => {
  const place = sandbox()
  try {
    expect(await place.run(["upgrade"], { env: { SKEIN_DB: "/nowhere/at/all.db" } })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^npm i -g \S+\n$/),
      stderr: expect.stringMatching(/^This is Skein \d+\.\d+\.\d+\./)
    })
  } finally {
    place.remove()
  }
})
