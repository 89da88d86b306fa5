/** The built program, its listings: for people and for programs. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"

vi.setConfig({ testTimeout: 60_000 })

const world = (files: Readonly<Record<string, string>> = {}): Sandbox => {
  const place = sandbox({ files })
  atEnd(place.remove)
  return place
}

const json = async (place: Sandbox, args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
  const { stderr, stdout } = await place.run([...args, "--format", "json"], { env })
  return { value: JSON.parse(stdout), stderr }
}

it("--version and --help answer without a database, and print nothing else", async () => {
  const place = world({ "a-file": "" })
  // Nothing can be created below a file, by any user.
  const nowhere = join(place.project, "a-file")
  const env = { SKEIN_DB: join(nowhere, "at/all.db"), HOME: nowhere }
  expect(await place.run(["--version"], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: ""
  })
  expect(await place.run(["--help"], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Usage: skein COMMAND")
  })
  expect(await place.run(["help", "sessions"], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("resume ID")
  })
})

describe("sessions", () => {
  it("are listed newest first, shown, renamed and deleted", async () => {
    const place = world({ "a.txt": "a" })
    const offline = ["run", "-m", "offline/survey", "--format", "quiet"]
    await place.run([...offline, "--title", "First", "what is a?"])
    await place.run([...offline, "--title", "Second\u001b[31m", "what is b?"])
    const { value } = await json(place, ["sessions", "list"])
    expect(value).toMatchObject([{ title: "Second\u001b[31m" }, { title: "First" }])
    const { stdout } = await place.run(["sessions"])
    expect(stdout).toMatch(
      /^SESSION\tCHANGED\tAGENT\tSTEPS\tTOKENS\tCOST\tTITLE\nses_\w+\t.*\t5\t2.0k\t\$0\tSecond\\x1b\[31m\nses_\w+\t.*\t5\t2.0k\t\$0\tFirst\n$/
    )
    expect((await json(place, ["sessions", "--limit", "1"])).value).toHaveLength(1)

    const [{ id: second }, { id: first }] = value
    expect((await place.run(["sessions", "show", first])).stdout).toContain("what is a?")
    const shown = (await json(place, ["sessions", "show", first])).value
    expect(shown.session).toMatchObject({ id: first, title: "First" })
    expect(shown.messages[0].parts).toMatchObject([{ type: "text", text: "what is a?" }])
    expect(shown.messages.at(-1).info).toMatchObject({ role: "assistant", finish: "stop" })
    const call = /^ {4}"\w+": "/m
    expect((await place.run(["sessions", "show", first])).stdout).not.toMatch(call)
    expect((await place.run(["sessions", "show", first, "--full"])).stdout).toMatch(call)
    expect(await place.run(["sessions", "rename", first, "A", "better", "one"]))
      .toMatchObject({ code: 0, stdout: "", stderr: `Renamed: ${first}  A better one\n` })
    expect(await place.run(["sessions", "delete", second]))
      .toMatchObject({
        code: 0,
        stdout: "",
        stderr: expect.stringContaining(`Deleted, with all sessions below it: ${second}`)
      })
    expect((await json(place, ["sessions"])).value).toMatchObject([{ id: first, title: "A better one" }])
  })

  it("are found by a prefix of their id if it is unique", async () => {
    const place = world({ "a.txt": "a" })
    const offline = ["run", "-m", "offline/survey", "--format", "quiet"]
    for (const title of ["First", "Second"]) await place.run([...offline, "--title", title, "what is a?"])
    const [{ id: second }, { id: first }] = (await json(place, ["sessions", "list"])).value
    const same = [...first].findIndex((character, i) => character !== second[i])
    const short = first.slice(0, -2)
    const both = first.slice(0, same)

    expect((await place.run(["sessions", "show", short])).stdout).toContain(`First\n${first} in `)
    for (const { rootID } of (await json(place, ["tasks", "list", short])).value) expect(rootID).toBe(first)
    expect((await place.run(["permissions", "-s", short])).code).toBe(0)
    expect(JSON.parse((await place.run(["sessions", "export", short])).stdout).sessions[0].info.id).toBe(first)
    expect((await place.run(["sessions", "resume", short])).stderr).toContain(`nothing to continue in ${first}`)
    expect((await place.run([...offline, "-s", short, "and b?"])).code).toBe(0)
    expect((await json(place, ["sessions", "show", first])).value.messages.length).toBeGreaterThan(2)
    expect((await place.run(["sessions", "rename", short, "Third"])).code).toBe(0)
    const forked = (await place.run(["sessions", "fork", short])).stdout.trim()
    expect((await json(place, ["sessions", "show", forked])).value.session.title).toContain("Third")

    for (const args of [["sessions", "delete", both], ["tasks", "list", both], [...offline, "-s", both, "go"]]) {
      const { code, stderr } = await place.run(args)
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`begin with ${both}: ${first}, `)
      })
      expect(stderr).toContain(second)
    }
    expect((await place.run(["sessions", "delete", "ses_"])).stderr).toContain("There is no session ses_.")
    expect((await place.run(["sessions", "delete", second])).code).toBe(0)
    expect((await json(place, ["sessions", "list"])).value).toHaveLength(2)
  })

  it("are empty with a hint at how to start one", async () => {
    expect(await world().run(["sessions"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("`skein run` begins one")
    })
  })
})

describe("a database that is not there", () => {
  it("is refused if --db names it, counts as empty elsewhere, and is not created", async () => {
    const place = world()
    const file = join(place.home, "typo", "typo.db")
    expect(await place.run(["sessions", "--db", file]))
      .toMatchObject({ code: 2, stdout: "", stderr: `skein: There is no database at ${file}. Check --db.\n` })
    expect(await place.run(["sessions"], { env: { SKEIN_DB: file } }))
      .toMatchObject({ code: 0, stderr: expect.stringContaining(`There is no database at ${file} yet.`) })
    expect(existsSync(join(place.home, "typo"))).toBe(false)
  })

  it("is refused if it is a URL of another kind", async () => {
    const place = world()
    for (const args of [["sessions"], ["run", "-m", "offline/survey", "go"]]) {
      expect(await place.run([...args, "--db", "mysql://host/x"]))
        .toMatchObject({
          code: 2,
          stdout: "",
          stderr: expect.stringContaining("The database mysql://… is of no known kind")
        })
    }
    expect(existsSync(join(place.project, "mysql:"))).toBe(false)
  })
})

describe("agents and models", () => {
  it("agents are those of the config over the built-in ones", async () => {
    const place = world({
      "skein.json": JSON.stringify({ agent: { review: { description: "Reviews changes", mode: "subagent" } } })
    })
    const { value } = await json(place, ["agents"])
    expect(value).toContainEqual(
      expect.objectContaining({ name: "review", origin: expect.stringContaining("skein.json") })
    )
    const { stdout } = await place.run(["agents"])
    expect(stdout).toMatch(/^build \(default\)\tprimary\t/m)
    expect(stdout).toMatch(/^review\tsubagent\t-\t\S+skein\.json:1\tReviews changes$/m)
    expect(stdout).not.toMatch(/^compaction/m)
  })

  it("models report which are usable, and never the key", async () => {
    const place = world()
    const without = await place.run(["models"])
    expect(without.stdout).toMatch(/^offline\/survey \(default\)\tyes\t/m)
    expect(without.stdout).toMatch(/^openai\/\S+\tno key\t/m)
    const secret = "sk-live-abcdefghijklmnop"
    const { stderr, stdout } = await place.run(["models", "--format", "json", "--verbose"], {
      env: { OPENAI_API_KEY: secret }
    })
    expect(stdout + stderr).not.toContain(secret)
    const openai = JSON.parse(stdout).filter(({ providerID }: { readonly providerID: string }) =>
      providerID === "openai"
    )
    expect(openai.every(({ available }: { readonly available: boolean }) => available)).toBe(true)
    expect(openai.filter((model: { readonly default: boolean }) => model.default)).toHaveLength(1)
  })
})

it("config shows every value with its origin, and ignored values", async () => {
  const place = world({
    "skein.json": JSON.stringify(
      { limits: { concurrency: 3 }, provider: { openai: { base_url: "https://evil.example/v1" } } },
      undefined,
      2
    )
  })
  const { stderr, value } = await json(place, ["config"])
  expect(value.config.limits).toMatchObject({ concurrency: 3, max_tasks: 256 })
  expect(value.origins).toMatchObject({
    "limits.concurrency": expect.stringMatching(/skein\.json:3$/),
    "limits.max_tasks": "default"
  })
  expect(value.warnings).toHaveLength(1)
  expect(stderr).toBe("skein: 1 value waits for trust (`skein trust`): `skein config --notes`\n")
  expect((await place.run(["config", "--notes"])).stdout).toMatch(
    /^waits for trust\t\S+skein\.json:7\tprovider\.openai\.base_url is ignored: /m
  )
  expect((await place.run(["config"])).stdout).toMatch(/^limits\.concurrency\t3\t\S+skein\.json:3$/m)
})

describe("doctor", () => {
  it("finds everything in order, and reports a key only as present", async () => {
    const place = world()
    const secret = "sk-live-abcdefghijklmnop"
    const { value } = await json(place, ["doctor"], { OPENAI_API_KEY: secret, GEMINI_API_KEY: secret })
    expect(value.ok).toBe(true)
    const names = new Set(value.checks.map(({ name }: { readonly name: string }) => name))
    expect(names).toEqual(
      new Set(["node", "git", "ripgrep", "bash", "sandbox", "database", "config", "model", "key", "terminal"])
    )
    expect(JSON.stringify(value)).not.toContain(secret)
    expect(value.checks).toContainEqual(
      expect.objectContaining({ name: "key", state: "ok", detail: "openai: OPENAI_API_KEY is set" })
    )
    expect(value.checks).toContainEqual(
      expect.objectContaining({ name: "key", detail: "google: GEMINI_API_KEY is set" })
    )
    const { code, stdout } = await place.run(["doctor"])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ok +key +not set: OPENAI_API_KEY, ANTHROPIC_API_KEY, /m)
  })

  it.each([
    [
      "needs no key",
      { base_url: "http://127.0.0.1:1/v1", models: { m: {} } },
      /^ok +model +corp\/m is the default model/m
    ],
    [
      "needs a key that is not set",
      { base_url: "http://127.0.0.1:1/v1", key_env: "CORP_KEY", models: { m: {} } },
      /^warn\S* +model +corp\/m is the default model, and cannot be used: corp needs a key: set CORP_KEY/m
    ]
  ])("says which model answers without a key: one of your own server that %s", async (_, corp, line) => {
    const place = world()
    const config = join(place.home, "config", "skein")
    mkdirSync(config, { recursive: true })
    writeFileSync(join(config, "skein.json"), JSON.stringify({ model: "corp/m", provider: { corp } }))
    const { stdout } = await place.run(["doctor"])
    expect(stdout).toMatch(line)
    expect((await place.run(["models"])).stdout).toMatch(/^corp\/m \(default\)/m)
  })

  it("exits with 1 if something essential is broken, and says how to fix it", async () => {
    const place = world({ "skein.json": "{ nonsense" })
    const file = join(place.home, "foreign.db")
    writeFileSync(file, "this is no database at all, however long one looks at it")
    const { code, stdout } = await place.run(["doctor", "--db", file])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^broken +database +.*foreign\.db.*--db/m)
    expect(stdout).toMatch(/^broken +config +.*skein\.json:1/m)
  })

  it("says how to get what is missing", async () => {
    const place = world()
    const { stdout } = await place.run(["doctor"], { env: { PATH: "/nowhere" } })
    expect(stdout).toMatch(
      /^missing +git +git cannot be run: it was not found on PATH\n +Get it with: apt install git, or brew install git$/m
    )
    expect(stdout).toMatch(/^ok +ripgrep +.*comes with Skein/m)
  })
})
