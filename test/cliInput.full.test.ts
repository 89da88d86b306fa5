/** The built program and bad input: each has one clear line, the right exit code, and no side effect. */
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, sandbox, type Start } from "./support/cli.ts"

vi.setConfig({ testTimeout: 60_000 })

const world = (files: Readonly<Record<string, string>> = {}) => {
  const place = sandbox({ files })
  atEnd(place.remove)
  return place
}

const offline = ["run", "-m", "offline/survey", "--format", "quiet"] as const

it("refuses a misspelt permission, and shows all mistakes of the config at once", async () => {
  const place = world({ "skein.json": JSON.stringify({ modle: "x", permission: { bsh: "deny" } }) })
  const { code, stderr, stdout } = await place.run([...offline, "go"])
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
  expect(stderr).toContain("The config has 2 mistakes:")
  expect(stderr).toMatch(/unknown key "modle"; did you mean "model"\?$/m)
  expect(stderr).toMatch(/permission\.bsh: Skein has no permission or tool "bsh"; did you mean "bash"\?$/m)
})

it("names a broken agent's file once at every start, in one line", async () => {
  const place = world({ ".skein/agent/bad.md": "---\nmodle: x\n---\nDo" })
  for (
    const args of [[...offline, "go"], ["run", "-m", "offline/survey", "go"], ["agents"], ["models"], ["commands"]]
  ) {
    const { code, stderr } = await place.run(args)
    expect(code).toBe(0)
    const lines = stderr.split("\n").filter((line) => line.includes("bad.md"))
    expect(lines, args.join(" ")).toEqual([
      expect.stringMatching(/unknown key "modle".*; the agent "bad" is left out$/)
    ])
  }
})

it("lists the models of one provider", async () => {
  const { code, stdout } = await world({}).run(["models", "xai", "--format", "json"])
  expect(code).toBe(0)
  expect(new Set(JSON.parse(stdout).map(({ providerID }: { readonly providerID: string }) => providerID)))
    .toEqual(new Set(["xai"]))
})

it.each<readonly [name: string, args: ReadonlyArray<string>, line: RegExp]>([
  ["no prompt", offline, /There is no prompt\. Write it after `skein run`/],
  ["an empty prompt", [...offline, "  "], /There is no prompt/],
  ["a mistyped command", ["rnu"], /There is no command "rnu"\. Did you mean `skein run`\? .* `skein -- rnu`\.$/m],
  ["no words at all", offline.slice(1), /There is no prompt/],
  ["a flag before its command", ["--verbose", "sessions"], /Write the command before its flags: `skein sessions …`/],
  ["a command below another one behind flags", ["sessions", "--all", "list"], /Write "list" before the flags/],
  ["an unknown flag", ["run", "--modle", "x", "go"], /has no flag --modle\. Did you mean --model\?/],
  [
    "an unknown agent",
    [...offline, "--agent", "bild", "go"],
    /There is no agent "bild"\. Did you mean build\? Agents: build, /
  ],
  ["a hidden agent", [...offline, "--agent", "title", "go"], /title is an internal agent/],
  [
    "a subagent at the root",
    [...offline, "--agent", "explore", "go"],
    /--agent: explore is a subagent .* @explore\. Primary agents: build, coordinator, plan\.$/m
  ],
  ["an unknown provider", ["run", "-m", "opnai/x", "go"], /There is no provider opnai.* Did you mean openai\/x\?/],
  [
    "a model without a provider",
    ["run", "-m", "sonnet", "go"],
    /--model needs PROVIDER\/MODEL, and got "sonnet"\. Did you mean anthropic\/claude-sonnet/
  ],
  ["models of an unknown provider", ["models", "opnai"], /There is no provider "opnai"\. Did you mean openai\?/],
  ["the transport of another program", ["mcp", "add", "--transport", "http", "x", "y"], /leave it out/],
  ["the scope of another program", ["mcp", "add", "--scope", "user", "x", "y"], /--project puts it/],
  ["an unknown offline model", ["run", "-m", "offline/x", "go"], /There is no model offline\/x/],
  [
    "no key for the model",
    ["run", "-m", "openai/gpt-5.1", "go"],
    /openai\/gpt-5\.1 needs a key: set the environment variable OPENAI_API_KEY/
  ],
  [
    "an unknown session",
    [...offline, "-s", "ses_nothere", "go"],
    /There is no session ses_nothere\. See `skein sessions`/
  ],
  ["an invalid session id", ["sessions", "show", "x'; --"], /There is no session x'; --/],
  ["both ways to a session", [...offline, "-c", "-s", "ses_x", "go"], /--session and --continue exclude each other/],
  ["a missing directory", [...offline, "--dir", "nowhere", "go"], /--dir: .*nowhere does not exist/],
  ["a directory that is a file", [...offline, "--dir", "file.txt", "go"], /--dir: .*file\.txt is not a directory/],
  ["a missing file", [...offline, "-f", "nowhere.txt", "go"], /--file: .*nowhere\.txt does not exist\./],
  ["a file that is a directory", [...offline, "-f", ".", "go"], /--file: .* is not a file/],
  ["a flag without a value", ["run", "go", "--model"], /--model needs a value \(PROVIDER\/MODEL\), and got nothing/],
  [
    "a flag whose value is the next flag",
    ["run", "--title", "--auto", "go"],
    /--title needs a value.*"--auto" looks like another flag/
  ],
  ["an empty value", ["run", "--agent=", "go"], /--agent needs a value \(NAME\), and got ""/],
  ["a time of zero", ["run", "--timeout", "0", "go"], /--timeout needs a time above zero.*got "0"/],
  ["a negative time", ["run", "--timeout=-5s", "go"], /--timeout needs a time above zero.*got "-5s"/],
  ["an invalid time", ["run", "--timeout", "soon", "go"], /--timeout needs a time above zero.*got "soon"/],
  [
    "a count of zero",
    ["run", "--concurrency", "0", "go"],
    /--concurrency needs a whole number from 1 to 999999999, and got "0"/
  ],
  ["an invalid count", ["run", "--max-tasks", "NaN", "go"], /--max-tasks needs a whole number/],
  ["half a step", ["run", "--max-steps", "1.5", "go"], /--max-steps needs a whole number/],
  [
    "a budget of zero USD",
    ["run", "--budget-usd", "0", "go"],
    /--budget-usd needs an amount of USD above zero.*got "0"/
  ],
  ["a budget below zero", ["run", "--budget-usd=-1", "go"], /--budget-usd needs an amount of USD above zero/],
  ["an invalid budget", ["run", "--budget-usd", "NaN", "go"], /--budget-usd needs an amount of USD above zero/],
  ["a budget of zero tokens", ["run", "--budget-tokens", "0", "go"], /--budget-tokens needs a whole number/],
  ["an unknown format", ["run", "--format", "xml", "go"], /--format needs one of default, json, quiet, and got "xml"/],
  ["a misspelt format", ["run", "--format", "jsn", "go"], /--format needs one of .*got "jsn"\. Did you mean json\?/],
  ["a misspelt format after =", ["agents", "--format=jason"], /--format needs one of .* Did you mean json\?/],
  ["a time without its unit", ["run", "--timeout", "5x", "go"], /--timeout needs .*1500ms or 5 \(seconds\).*got "5x"/],
  ["a switch with a value", ["run", "--auto=yes", "go"], /--auto takes no value/],
  ["a missing operand", ["sessions", "show"], /`skein sessions show` needs ID/],
  ["one operand too many", ["doctor", "x"], /`skein doctor` does not take "x"/],
  ["an empty operand", ["sessions", "show", ""], /`skein sessions show` needs ID, and got ""\.$/m],
  ["tasks of an unknown session", ["tasks", "list", "nope"], /There is no session nope\./],
  ["a missing archive", ["sessions", "import", "nope"], /nope cannot be read \(there is no such file/],
  ["an archive that is a directory", ["sessions", "import", "."], /cannot be read \(it is a directory/],
  ["an archive that is not JSON", ["sessions", "import", "file.txt"], /The archive is not JSON/],
  ["an unknown shell", ["completions", "tcsh"], /does not take "tcsh"/],
  ["no session to continue", [...offline, "-c", "go"], /There is no session in .* to continue/],
  ["an unknown approval", ["permissions", "revoke", "per_x"], /This project has no approval per_x/],
  ["approvals of an unknown session", ["permissions", "-s", "ses_x"], /There is no session ses_x/]
])("%s", async (_name, args, line) => {
  const place = world({ "file.txt": "x" })
  const ended = await place.run(args)
  expect(ended).toMatchObject({ code: 2, stdout: "" })
  expect(ended.stderr).toMatch(line)
  expect(ended.stderr).toMatch(/^skein: [^\n]+\n$/)
})

it.each([
  ["'postgres://skein:secret@localhost/skein'", /^skein: The URL of the database begins with a quote.* without quotes/],
  ["\"postgres://skein:secret@localhost/skein\"", /^skein: The URL of the database begins with a quote/],
  ["'data/skein.db'", /^skein: The name of the database begins with a quote\. .* without quotes/]
])("a database in quotes: SKEIN_DB=%s", async (database, line) => {
  const place = world()
  for (const args of [[...offline, "go"], ["sessions"], ["serve"]]) {
    const ended = await place.run(args, { env: { SKEIN_DB: database } })
    expect(ended).toMatchObject({ code: 2, stdout: "" })
    expect(ended.stderr).toMatch(line)
    expect(ended.stderr).toMatch(/^skein: [^\n]+\n$/)
    expect(ended.stderr).not.toContain("secret")
  }
  expect(readdirSync(place.project)).toEqual([".git"])
})

it("a file that is neither text nor image", async () => {
  const place = world()
  writeFileSync(join(place.project, "bad.txt"), Buffer.from([0x68, 0xff, 0xfe, 0x69]))
  const ended = await place.run([...offline, "-f", "bad.txt", "go"])
  expect(ended).toMatchObject({ code: 2, stdout: "" })
  expect(ended.stderr).toMatch(/^skein: --file: .*bad\.txt is neither an image .* nor text in UTF-8\. .*\n$/)
})

it.each([[0x68, 0xff, 0xfe, 0x69], [0x68, 0x00, 0x69]])("standard input that is not text", (...bytes) => {
  const place = world()
  const { status, stderr, stdout } = spawnSync(process.execPath, [program, ...offline, "go"], {
    cwd: place.project,
    encoding: "utf8",
    input: Buffer.from(bytes),
    env: place.env()
  })
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" })
  expect(stderr).toMatch(/^skein: Standard input is not text in UTF-8\. [^\n]+\n$/)
})

it("config with mistakes: file, line, and a suggestion", async () => {
  const place = world({ "skein.json": "{\n  \"modle\": \"openai/x\"\n}\n" })
  const ended = await place.run([...offline, "go"])
  expect(ended.code).toBe(2)
  expect(ended.stderr).toMatch(/^skein: .*skein\.json:2:3: .*model.*\n$/)
})

it("config with several mistakes: all at once, each in a line, in `doctor` too", async () => {
  const permission = { edti: "deny", bash: "alow" }
  const place = world({ "skein.json": JSON.stringify({ modle: "openai/x", permission }, undefined, 2) })
  const run = await place.run([...offline, "go"])
  for (const meant of ["model", "edit", "allow"]) expect(run.stderr).toContain(`did you mean "${meant}"?`)
  const { stdout } = await place.run(["doctor"])
  expect(stdout).not.toContain("\\n")
  const shown = stdout.split("\n").filter((line) => line.includes("skein.json:"))
  expect(shown.length).toBe(3)
  for (const line of shown.slice(1)) expect(line).toMatch(/^ {20}\S/)
})

it("a database of another program is refused, and stays unchanged", async () => {
  const place = world()
  const file = join(place.home, "other.db")
  const before = Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(4_080)])
  writeFileSync(file, before)
  const ended = await place.run([...offline, "--db", file, "go"])
  expect(ended.code).toBe(2)
  expect(ended.stderr).toMatch(/^skein: .*other\.db .*--db.*\n$/)
  expect(readFileSync(file).equals(before)).toBe(true)
})

it("a database that is text is refused, and stays unchanged", async () => {
  const place = world({
    "notes.txt": "important notes, longer than a header of one hundred bytes would be: ".repeat(3)
  })
  const before = readFileSync(join(place.project, "notes.txt"))
  const ended = await place.run([...offline, "go"], { env: { SKEIN_DB: "notes.txt" } } satisfies Start)
  expect(ended.code).toBe(2)
  expect(ended.stderr).toMatch(/^skein: .*notes\.txt.*\n$/)
  expect(readFileSync(join(place.project, "notes.txt")).equals(before)).toBe(true)
})

it.skipIf(process.getuid?.() === 0)("a database that cannot be written (root may write everywhere)", async () => {
  const place = world()
  const locked = join(place.home, "locked")
  mkdirSync(locked)
  chmodSync(locked, 0o500)
  const ended = await place.run([...offline, "--db", join(locked, "x.db"), "go"])
  expect(ended.code).toBe(2)
  expect(ended.stderr).toMatch(/^skein: .*locked.*\n$/)
})

it("a database below a file", async () => {
  const place = world({ "file.txt": "x" })
  const ended = await place.run([...offline, "--db", "file.txt/x.db", "go"])
  expect(ended.code).toBe(2)
  expect(ended.stderr).toMatch(/^skein: .*file\.txt.*\n$/)
})

it("a directory that vanished under the session", async () => {
  const place = world()
  const gone = join(place.home, "gone")
  mkdirSync(gone)
  writeFileSync(join(gone, "a.txt"), "a")
  const first = await place.run(["run", "-m", "offline/survey", "--format", "json", "--dir", gone, "go"])
  const { sessionID } = JSON.parse(first.stdout.trimEnd().split("\n").at(-1) ?? "")
  rmSync(gone, { recursive: true })
  const ended = await place.run([...offline, "-s", sessionID, "go on"])
  expect(ended.code).toBe(2)
  expect(ended.stderr).toMatch(/^skein: .*gone does not exist\..*\n$/)
  expect((await place.run(["sessions", "show", sessionID])).stdout).toContain("go")
})

it("a current directory that vanished", async () => {
  const place = world()
  const gone = join(place.home, "gone")
  mkdirSync(gone)
  const ended = spawnSync("sh", [
    "-c",
    "rmdir \"$PWD\" && exec \"$@\"",
    "sh",
    process.execPath,
    program,
    ...offline,
    "go"
  ], {
    cwd: gone,
    env: place.env(),
    encoding: "utf8"
  })
  expect(ended).toMatchObject({
    status: 2,
    stdout: "",
    stderr: expect.stringMatching(/^skein: The current directory no longer exists\. [^\n]+\n$/)
  })
})

it("works without a git repository", async () => {
  const place = world()
  const plain = join(place.home, "plain")
  mkdirSync(plain)
  writeFileSync(join(plain, "a.txt"), "a")
  expect((await place.run([...offline, "what is here?"], { cwd: plain })).code).toBe(0)
})

it("nothing is stored for a run that could not begin", async () => {
  const place = world()
  await place.run(["run", "-m", "openai/gpt-5.1", "go"])
  await place.run([...offline, "--agent", "nobody", "go"])
  expect(JSON.parse((await place.run(["sessions", "--all", "--format", "json"])).stdout)).toEqual([])
  expect(existsSync(place.database)).toBe(true)
})

it("a run that fails before it begins still ends its JSON with a result", async () => {
  const place = world()
  const ended = await place.run(["run", "--format", "json", "-m", "openai/gpt-5.1", "go"])
  expect(ended.code).toBe(2)
  expect(JSON.parse(ended.stdout)).toMatchObject({
    type: "result",
    text: "",
    outcome: "failed",
    exitCode: 2,
    error: { tag: "ModelUnavailable" }
  })
})

it("says which named file is not attached, and why", async () => {
  const place = sandbox({
    files: {
      "secret.txt": "s3cret",
      "open.txt": "open",
      "skein.json": JSON.stringify({ permission: { read: { "secret.txt": "deny" } } })
    }
  })
  atEnd(place.remove)
  const { code, stderr } = await place.run(["run", "-m", "offline/survey", "What is in @secret.txt and @open.txt?"])
  expect(code).toBe(0)
  expect(stderr.match(/^@.* is not attached: .*$/gm)).toEqual([
    expect.stringMatching(/^@secret\.txt is not attached: Permission denied/)
  ])
})

it("a title has at most 500 characters", async () => {
  const at = sandbox()
  atEnd(at.remove)
  const long = "x".repeat(501)
  expect(await at.run(["run", "--title", long, "Go"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--title takes at most 500 characters, and got 501.")
  })
  expect(await at.run(["sessions", "rename", "ses_1", long])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("A title has at most 500 characters, and this one has 501.")
  })
})
