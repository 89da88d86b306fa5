/** The built program and the sandbox of commands: available, missing, and required. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { barePath, program, sandbox as world } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const works = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]).status === 0

/** A model that runs these lines, one after the other, with this user config. */
const place = async (config: object, lines: ReadonlyArray<string>) => {
  const llm = await startLlm(({ last, messages }) => {
    const command = lines[messages.filter(({ role }) => role === "tool").length]
    return command === undefined ? `got: ${last}` : { calls: [{ tool: "bash", args: { command } }] }
  })
  const where = world({ llm: llm.url })
  atEnd(llm.close, where.remove)
  const directory = join(where.home, "config", "skein")
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, "skein.json"), JSON.stringify({ permission: { bash: "allow" }, ...config }))
  const run = (env: Readonly<Record<string, string>> = {}, ...flags: ReadonlyArray<string>) =>
    where.run(["run", "-m", "openai/m", ...flags, "go"], { env })
  const doctor = (env: Readonly<Record<string, string>>) => where.run(["doctor"], { env })
  return { ...where, llm, run, doctor }
}

/** Without bubblewrap, and without a word from the user. */
const bare = () => ({ PATH: barePath(), SKEIN_SANDBOX: "" })

it.skipIf(!works)("names the rule that would allow what was denied, and that rule does", async () => {
  const command = "curl -s http://127.0.0.1:9 -o /dev/null"
  const llm = await startLlm(({ last, messages }) =>
    messages.some(({ role }) => role === "tool")
      ? `got: ${last}`
      : { calls: [{ tool: "bash", args: { command, needs: ["network"] } }] }
  )
  const where = world({ llm: llm.url })
  atEnd(llm.close, where.remove)
  const denied = await where.run(["run", "-m", "openai/m", "go"])
  expect(denied.code).toBe(3)
  const [, rule = ""] = /allow it in your config: (.*)$/m.exec(denied.stderr) ?? []
  where.configure(JSON.parse(`{${rule}}`))
  expect((await where.run(["run", "-m", "openai/m", "go"])).code).toBe(0)
})

it.skipIf(!works)("an allowed command is confined anyway, if there is bubblewrap", async () => {
  const { home, project, run } = await place({ permission: { bash: { "./build.sh": "allow" } } }, ["./build.sh"])
  const script = [
    "echo x > own.txt",
    "touch .git/hooks/pre-commit",
    "touch ../x",
    "tr '\\0' '\\n' < /proc/$PPID/environ",
    "env"
  ]
  writeFileSync(join(project, "build.sh"), `#!/bin/bash\n${script.join("\n")}\ntrue\n`, { mode: 0o755 })
  const { code, stderr, stdout } = await run()
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("Read-only file system") })
  expect(stdout).not.toContain("sk-test-0123456789")
  expect(stderr).not.toContain("sandbox")
  expect(existsSync(join(project, "own.txt"))).toBe(true)
  expect(existsSync(join(project, ".git/hooks/pre-commit"))).toBe(false)
  expect(existsSync(join(home, "x"))).toBe(false)
})

it.skipIf(!works)("naming the root directory needs no answer, and shows only what the sandbox has there", async () => {
  const lines = ["ls / && echo quiet > /dev/null", "find / -maxdepth 1 -name usr", "ls -d /.. /proc/[0-9]* | wc -l"]
  for (const flags of [[], ["--auto"]]) {
    const { llm, run } = await place({ permission: {} }, lines)
    const { code } = await run({}, ...flags)
    const results = llm.requests.at(-1)?.messages.filter(({ role }) => role === "tool")
      .map(({ content }) => String(content)) ?? []
    expect({ code, results }).toMatchObject({ code: 0, results: { length: 3 } })
    expect(results[0]).toMatch(/^usr$/m)
    expect(results[0]).not.toMatch(/exit code|denied/i)
    expect(results[1]).toMatch(/^\/usr$/m)
    expect(Number(results[2])).toBeLessThan(10)
  }
})

it.skipIf(!works)("a command that is known to read sees the real tree, without placeholder files", async () => {
  const { project, run } = await place({}, ["ls -A"])
  writeFileSync(join(project, "a.txt"), "")
  expect((await run()).stdout).toBe("got: .git\na.txt\n")
})

it.skipIf(!works)(
  "a program neither sees nor changes what rules deny, also of packages and of what is built",
  async () => {
    const { project, run } = await place(
      { permission: { bash: "allow", read: { "*.pem": "deny" }, edit: { "*": "allow", "*.lock": "deny" } } },
      ["sh evil.sh"]
    )
    for (const directory of ["target", "src/target", "node_modules/x"]) {
      mkdirSync(join(project, directory), { recursive: true })
      for (const name of ["k.pem", "p.lock"]) writeFileSync(join(project, directory, name), "SECRET\n")
    }
    const evil = [
      "find . -name '*.pem' -exec cat {} +",
      "find . -name '*.lock' -exec sh -c 'echo x > $1' - {} ';'",
      "echo end"
    ]
    writeFileSync(join(project, "evil.sh"), evil.join("\n"))
    const { code, stdout } = await run({}, "--auto")
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/end/) })
    expect(stdout).not.toContain("SECRET")
    for (const directory of ["target", "src/target", "node_modules/x"]) {
      expect(readFileSync(join(project, directory, "p.lock"), "utf8")).toBe("SECRET\n")
    }
  }
)

it.skipIf(!works)(
  "a command changes what it declares outside, and nothing next to that, if there is bubblewrap",
  async () => {
    const beyond = realpathSync(mkdtempSync("/var/tmp/skein-beyond-"))
    atEnd(() => rmSync(beyond, { recursive: true }))
    spawnSync("git", ["init", "-q", join(beyond, "other")])
    for (const name of ["old", "edited", "beside"]) writeFileSync(join(beyond, name), "a\n")
    const lines = [
      `touch ${beyond}/new && mkdir -p ${beyond}/deep/er && cp ${beyond}/beside ${beyond}/deep/er/copy`,
      `rm ${beyond}/old && sed -i s/a/b/ ${beyond}/edited`,
      `cd ${beyond}/other && echo x > plain && git status --short`,
      `sh evil.sh ${beyond}/other`
    ]
    const { project, run } = await place({}, lines)
    const evil = [
      "cd $1",
      "echo x >> ../beside",
      "touch ../deep/more",
      "echo x > .git/hooks/pre-commit",
      "echo ran > ran"
    ]
    writeFileSync(join(project, "evil.sh"), evil.join("\n"))
    expect(await run({}, "--auto")).toMatchObject({ code: 0 })
    expect(existsSync(join(beyond, "other", "ran"))).toBe(true)
    expect(existsSync(join(beyond, "new"))).toBe(true)
    expect(existsSync(join(beyond, "deep", "er", "copy"))).toBe(true)
    expect(existsSync(join(beyond, "old"))).toBe(false)
    expect(readFileSync(join(beyond, "edited"), "utf8")).toBe("b\n")
    expect(existsSync(join(beyond, "other", "plain"))).toBe(true)
    expect(readFileSync(join(beyond, "beside"), "utf8")).toBe("a\n")
    expect(existsSync(join(beyond, "other", ".git", "hooks", "pre-commit"))).toBe(false)
    expect(existsSync(join(beyond, "deep", "more"))).toBe(false)
  }
)

it("without bubblewrap commands run, which is reported once; not if that is configured", async () => {
  const two = await place({}, ["echo one", "echo two"])
  const { code, stderr, stdout } = await two.run(bare())
  expect({ code, stdout }).toEqual({ code: 0, stdout: "got: two\n" })
  expect(stderr.match(/There is no sandbox for commands/g)).toHaveLength(1)
  const again = await two.run(bare())
  expect(again).toMatchObject({ code: 0, stderr: expect.not.stringContaining("There is no sandbox") })
  expect((await two.doctor(bare())).stdout).toMatch(/^missing +sandbox +bubblewrap is not installed/m)
  const off = await place({ sandbox: "off" }, ["echo one"])
  expect((await off.run(bare())).stderr).not.toContain("sandbox")
  expect((await off.doctor(bare())).stdout).toMatch(/^warn +sandbox +"sandbox" is "off"/m)
})

it("if a sandbox is required, nothing begins without it", async () => {
  const { doctor, llm, run } = await place({ sandbox: "on" }, ["echo one"])
  const { code, stderr } = await run(bare())
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(
      /skein: There is no sandbox for commands: bubblewrap \(bwrap\) was not found on PATH.*`skein doctor`/
    )
  })
  expect(llm.requests).toEqual([])
  const checked = await doctor(bare())
  expect(checked.code).toBe(1)
  expect(checked.stdout).toMatch(
    /^missing +sandbox +bubblewrap is not installed: .*one that you allow may do anything that you can.*\n? *(.*apt install bubblewrap)/m
  )
})

it("a bubblewrap that the system blocks counts as missing, and doctor says why", async () => {
  const { doctor, llm, run } = await place({ sandbox: "on" }, ["echo one"])
  const env = bare()
  const blocked = "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
  writeFileSync(join(env.PATH, "bwrap"), blocked, { mode: 0o755 })
  const { code, stderr } = await run(env)
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("setting up uid map: Permission denied")
  })
  expect(llm.requests).toEqual([])
  const checked = await doctor(env)
  expect(checked.code).toBe(1)
  expect(checked.stdout).toMatch(
    /^warn +sandbox +bubblewrap does not work here \(bwrap: setting up uid map: Permission denied\)/m
  )
})

it.skipIf(!works)("a kill of Skein ends all of a command immediately, if there is bubblewrap (C16)", async () => {
  const mark = `9999.${process.pid}`
  const line = `(env -i setsid sleep ${mark} >/dev/null 2>&1 &); trap '' TERM; sleep ${mark} & sleep ${mark}`
  const { project, start } = await place({ permission: { bash: { "./wait.sh": "allow" } } }, ["./wait.sh"])
  writeFileSync(join(project, "wait.sh"), `#!/bin/bash\n${line}\n`, { mode: 0o755 })
  const count = () => spawnSync("ps", ["-eo", "args"], { encoding: "utf8" }).stdout.split(`\nsleep ${mark}`).length - 1
  const { child, ended } = start(["run", "-m", "openai/m", "go"])
  await vi.waitUntil(() => count() === 3, { timeout: 20_000 })
  child.kill("SIGKILL")
  await ended
  await vi.waitUntil(() => count() === 0, { timeout: 3_000 })
})

it.skipIf(!works)(
  "what a killed Skein has left in a repository is removed at the next start, except for the user's files, if there is bubblewrap",
  async () => {
    const { home, project, run, start } = await place({ permission: { bash: { "./wait.sh": "allow" } } }, ["./wait.sh"])
    writeFileSync(join(project, "wait.sh"), "#!/bin/bash\necho $$ > begun\nsleep 9999\n", { mode: 0o755 })
    const temporary = join(home, "tmp")
    mkdirSync(temporary)
    const before = [...readdirSync(project), "begun"].toSorted()
    const { child, ended } = start(["run", "-m", "openai/m", "go"], { env: { TMPDIR: temporary } })
    await vi.waitUntil(() => existsSync(join(project, "begun")), { timeout: 20_000 })
    child.kill("SIGKILL")
    await ended
    // Only missing entries of .git get a placeholder.
    expect(readdirSync(project).toSorted()).toEqual(before)
    expect(readdirSync(join(project, ".git"))).toContain("config.worktree")
    expect(readdirSync(temporary)).toEqual([expect.stringMatching(/^skein-tmp-/)])
    writeFileSync(join(project, ".git", "config.worktree"), "[core]\n")
    writeFileSync(join(project, "wait.sh"), "#!/bin/bash\ntrue\n")
    expect(await run({ TMPDIR: temporary })).toMatchObject({ code: 0 })
    expect(readdirSync(project).toSorted()).toEqual(before)
    expect(readdirSync(join(project, ".git"))).not.toContain("modules")
    expect(readFileSync(join(project, ".git", "config.worktree"), "utf8")).toBe("[core]\n")
    expect(readdirSync(temporary)).toEqual([])
    expect(readdirSync(join(home, ".local", "state", "skein", "placeholders"))).toEqual([])
  }
)

it.skipIf(!works)(
  "a file that Skein was started with is not passed on to commands, if there is bubblewrap",
  async () => {
    const { env, home, project } = await place({ permission: { bash: { "./write.sh": "allow" } } }, ["./write.sh"])
    writeFileSync(join(project, "write.sh"), "#!/bin/bash\nls /proc/self/fd\necho x >&250\necho x >&7\n", {
      mode: 0o755
    })
    const file = join(home, "outside")
    const line = "exec 7>\"$1\" 250>>\"$1\"; shift; exec \"$@\""
    const child = spawn("bash", ["-c", line, "bash", file, process.execPath, program, "run", "-m", "openai/m", "go"], {
      cwd: project,
      env: env(),
      stdio: ["ignore", "pipe", "ignore"]
    })
    let stdout = ""
    child.stdout.on("data", (text) => stdout += String(text))
    await once(child, "close")
    expect(stdout).toMatch(/^got: 0\n1\n2\n3\n.*250: Bad file descriptor/s)
    expect(readFileSync(file, "utf8")).toBe("")
  }
)
