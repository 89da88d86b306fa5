/** The files of `--token-file` and `--cluster-secret-file`: only what nobody else can write keeps a secret. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, writeFileSync } from "node:fs"
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

const secret = `${"s".repeat(40)}\n`

it.each([
  ["--token-file", ["serve"]],
  ["--cluster-secret-file", ["serve", "--cluster", "--db", "postgres://skein@127.0.0.1:1/skein"]]
])("%s takes no file that others can write", async (flag, args) => {
  const at = place()
  const file = `${at.home}/shared`
  writeFileSync(file, secret)
  chmodSync(file, 0o620)
  expect(await at.run([...args, flag, file])).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(`${flag}: ${file} can be changed by other users. Run: chmod 600 ${file}.`)
  })
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
