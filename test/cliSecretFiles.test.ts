/** The files of `--token-file` and `--cluster-secret-file`: only what nobody else can write keeps a secret. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs"
import { getuid } from "node:process"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, type Sandbox, sandbox } from "./support/cli.ts"
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
  const long = make("long", 0o600)
  writeFileSync(long, "s".repeat(1_025))
  const table: ReadonlyArray<readonly [file: string, why: string]> = [
    [pipe, `${flag}: ${pipe} is a pipe. Give a regular file`],
    ["/dev/zero", `${flag}: /dev/zero is a device. Give a regular file`],
    [`${at.home}/directory`, "is a directory. Give a regular file"],
    [shared, `${flag}: ${shared} can be changed by other users. Run: chmod 600 ${shared}.`],
    [open, `${flag}: ${open} can be changed by other users. Run: chmod 600 ${open}.`],
    [long, `${flag}: ${long} has to hold a secret of 32 to 1024 visible ASCII characters.`],
    // Only root can give a file away.
    ...(getuid?.() === 0 ? [[make("theirs", 0o600, 12_345), "belongs to another user (12345)"] as const] : [])
  ]
  for (const [file, why] of table) {
    const { code, stderr, stdout } = await at.run(args(file))
    expect({ code, stdout, stderr }, file).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(why) })
  }
})

it("the secret of a cluster is not the token of its clients", async () => {
  const at = place()
  const file = `${at.home}/secret`
  writeFileSync(file, secret, { mode: 0o600 })
  const args = ["--token-file", file, "--cluster-secret-file", file, "--db", "postgres://skein@127.0.0.1:1/skein"]
  expect(await at.run(["serve", "--cluster", ...args])).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining("holds the token of --token-file, which clients have")
  })
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

it("a server in the foreground reads a pipe of its shell, and one in the background needs a file", async () => {
  const at = place()
  const file = `${at.home}/token`
  writeFileSync(file, secret, { mode: 0o600 })
  const inBash = (...args: ReadonlyArray<string>) =>
    spawnSync("bash", ["-c", `exec "$@" --token-file <(cat ${file})`, "bash", process.execPath, program, ...args], {
      cwd: at.project,
      env: at.env(),
      encoding: "utf8"
    })
  const detached = inBash("serve", "--detach")
  expect([detached.status, detached.stderr]).toEqual([2, expect.stringContaining("--detach needs a regular file")])
  const child = spawn("bash", [
    "-c",
    `exec "$@" --token-file <(cat ${file})`,
    "bash",
    process.execPath,
    program,
    "serve"
  ], {
    cwd: at.project,
    env: at.env()
  })
  const ended = once(child, "close")
  atEnd(async () => {
    child.kill("SIGKILL")
    await ended
  })
  const [line] = (await once(child.stdout, "data")) as [Buffer]
  const [url = ""] = line.toString("utf8").split("/#")
  const { status } = await fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer ${secret.trim()}` } })
  expect(status).toBe(200)
})
