/** The files of `--token-file` and `--cluster-secret-file`: only what nobody else can write keeps a secret. */
import { spawnSync } from "node:child_process"
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs"
import { getuid } from "node:process"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { startServer } from "./support/server.ts"

vi.setConfig({ testTimeout: 60_000 })

const place = (): Sandbox => {
  const made = sandbox()
  atEnd(made.remove)
  return made
}

const flags: ReadonlyArray<readonly [flag: string, args: (file: string) => ReadonlyArray<string>]> = [
  ["--token-file", (file) => ["serve", "--token-file", file]],
  [
    "--cluster-secret-file",
    (file) => ["serve", "--cluster", "--cluster-secret-file", file, "--db", "postgres://skein@127.0.0.1:1/skein"]
  ]
]

const secret = `${"s".repeat(40)}\n`

it.each(flags)("%s takes only a regular file that nobody else can write", async (flag, args) => {
  const at = place()
  const make = (name: string, mode: number, owner?: number) => {
    const file = `${at.home}/${name}`
    writeFileSync(file, secret)
    chmodSync(file, mode)
    if (owner !== undefined) chownSync(file, owner, owner)
    return file
  }
  const pipe = `${at.home}/pipe`
  spawnSync("mkfifo", [pipe])
  mkdirSync(`${at.home}/directory`)
  const shared = make("shared", 0o620)
  const open = make("open", 0o602)
  const table: ReadonlyArray<readonly [file: string, why: string]> = [
    [pipe, `${flag}: ${pipe} is a pipe. Give a regular file.`],
    ["/dev/zero", `${flag}: /dev/zero is a device. Give a regular file.`],
    [`${at.home}/directory`, "is a directory. Give a regular file."],
    [shared, `${flag}: ${shared} can be changed by other users. Run: chmod 600 ${shared}.`],
    [open, `${flag}: ${open} can be changed by other users. Run: chmod 600 ${open}.`],
    // Only root can give a file away.
    ...(getuid?.() === 0 ? [[make("theirs", 0o600, 12_345), "belongs to another user (12345)"] as const] : [])
  ]
  for (const [file, why] of table) {
    const { code, stderr, stdout } = await at.run(args(file))
    expect({ code, stdout, stderr }, file).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(why) })
  }
})

it("a server warns of a token that others can read, and of no other", async () => {
  for (const mode of [0o600, 0o644]) {
    const at = place()
    const file = `${at.home}/token`
    writeFileSync(file, secret, { mode })
    const server = await startServer(at, ["--token-file", file])
    atEnd(async () => {
      server.child.kill("SIGKILL")
      await server.ended
    })
    expect(server.output().includes(`--token-file: other users can read ${file}. Run: chmod 600 ${file}`))
      .toBe(mode === 0o644)
  }
})
