/** The built program with a read-only database: commands that only read still work. */
import { spawnSync } from "node:child_process"
import { chmodSync, chownSync, existsSync, lstatSync, readdirSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

type Place = ReturnType<typeof sandbox>

/** A place whose only session was left by a killed run. Its rows are only in the log, without a checkpoint. */
const killed = async () => {
  const llm = await startLlm(() => ({ hangs: true }))
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  const running = place.start(["run", "-m", "openai/m", "--title", "in the log", "go"])
  await llm.asked(1)
  running.child.kill("SIGKILL")
  await running.ended
  expect(statSync(`${place.database}-wal`).size).toBeGreaterThan(0)
  return { llm, place }
}

/** Starts the program through another one. */
const through = (place: Place, [command = "", ...words]: ReadonlyArray<string>) => (...args: ReadonlyArray<string>) =>
  spawnSync(command, [...words, process.execPath, program, ...args], {
    cwd: place.project,
    env: place.env(),
    encoding: "utf8"
  })

type Skein = ReturnType<typeof through>

const refusal = {
  status: 2,
  stdout: "",
  stderr: expect.stringMatching(/^skein: \S*skein\.db cannot be written .*--db\.\n$/)
}

/** Commands that read no session. */
const elsewhere = [["config"], ["agents"], ["models"], ["commands"]]

/** Commands that need no writable database. */
const reading = [...elsewhere, ["permissions"]]

const expectReadable = (skein: Skein) => {
  const listed = skein("sessions", "list", "--format", "json")
  expect(listed.stderr).not.toContain("cannot be written")
  const [{ id, title }] = JSON.parse(listed.stdout) as [{ id: string; title: string }]
  expect(title).toBe("in the log")
  expect(skein("sessions", "show", id)).toMatchObject({ status: 0, stdout: expect.stringContaining("go") })
  expect(skein("tasks")).toMatchObject({ status: 0, stderr: expect.stringContaining("started no tasks") })
  expect(skein("sessions", "export", id)).toMatchObject({ status: 0, stdout: expect.stringContaining("in the log") })
  expect(skein("sessions", "rename", id, "x")).toMatchObject(refusal)
  expect(skein("permissions")).toMatchObject({ status: 0 })
}

/** A run ends before a model is asked. */
const expectRefused = (skein: Skein) => {
  expect(skein("run", "-m", "openai/m", "go")).toMatchObject(refusal)
  expect(skein("doctor")).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^broken +database +\S+ cannot be written/m)
  })
}

/** Runs a command with its own mounts. */
const unshare = "/usr/bin/unshare"
const mounts = spawnSync(unshare, ["-m", "mount", "--bind", "/tmp", "/tmp"]).status === 0

it.skipIf(!mounts)("a read-only file system is read, including rows only in the log (needs mounts)", async () => {
  const { llm, place } = await killed()
  const script = "mount -o ro,bind \"$0\" \"$0\" && exec \"$@\""
  const skein = through(place, [unshare, "-m", "sh", "-c", script, dirname(place.database)])
  expectReadable(skein)
  for (const command of elsewhere) expect(skein(...command)).toMatchObject({ status: 0 })
  expectRefused(skein)
  expect(llm.requests).toHaveLength(1)
})

const nobody = 65_534
const isRoot = process.getuid?.() === 0
/** Modes do not restrict root, so it becomes another user, who can reach the program and Node. */
const user = isRoot ? ["/usr/bin/setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"] : ["env"]
const modesBind = spawnSync(user[0] ?? "", [...user.slice(1), process.execPath, program, "--version"]).status === 0

/** Removes write permission from everything at or below a path. */
const forbidWrites = (path: string): void => {
  const isDirectory = lstatSync(path).isDirectory()
  if (isDirectory) { for (const name of readdirSync(path)) forbidWrites(join(path, name)) }
  if (isRoot) chownSync(path, nobody, nobody)
  chmodSync(path, isDirectory ? 0o555 : 0o444)
}

const allowWrites = (path: string): void => {
  chmodSync(path, 0o755)
  if (lstatSync(path).isDirectory()) { for (const name of readdirSync(path)) allowWrites(join(path, name)) }
}

const asNobody = (place: Place): Skein => {
  forbidWrites(place.home)
  atEnd(() => allowWrites(place.home))
  return through(place, user)
}

it.skipIf(!modesBind).each([
  ["with rows only in its log", () => Promise.resolve()],
  ["without a log", async (place: Place) => {
    // The last process to close it moves the log into the file.
    expect((await place.run(["permissions"])).code).toBe(0)
    for (const end of ["-wal", "-shm"]) expect(existsSync(`${place.database}${end}`)).toBe(false)
  }],
  ["with a log and without its index", (place: Place) => Promise.resolve(rmSync(`${place.database}-shm`))]
])("a home without write permission is read %s (root needs setpriv)", async (_, prepare) => {
  const { llm, place } = await killed()
  await prepare(place)
  const skein = asNobody(place)
  expectReadable(skein)
  expectRefused(skein)
  expect(llm.requests).toHaveLength(1)
})

it.skipIf(!modesBind)(
  "a home without a database and without write permission has no sessions (root needs setpriv)",
  () => {
    const place = sandbox()
    atEnd(place.remove)
    const skein = asNobody(place)
    expect(skein("sessions", "list", "--format", "json")).toMatchObject({ status: 0, stdout: "[]\n", stderr: "" })
    expect(skein("tasks")).toMatchObject({ status: 0, stderr: expect.stringContaining("no sessions") })
    expect(skein("sessions", "show", "ses_0")).toMatchObject({ status: 2, stderr: expect.stringContaining("ses_0") })
    for (const command of reading) expect(skein(...command)).toMatchObject({ status: 0 })
    expectRefused(skein)
    const refused = (path: RegExp, variable: string) => ({
      status: 2,
      stdout: "",
      stderr: expect.stringMatching(
        new RegExp(
          `^skein: \\S*${path.source} cannot be written \\(.*permission denied.*\\)\\. Make it .* set ${variable} to .*\\n$`
        )
      )
    })
    expect(skein("serve")).toMatchObject(refused(/skein\/servers/, "XDG_DATA_HOME"))
    expect(skein("serve", "--detach")).toMatchObject(refused(/skein\/servers\/\w+\.log/, "XDG_STATE_HOME"))
  }
)
