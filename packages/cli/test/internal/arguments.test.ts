import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { commands, session } from "../../src/Commands.ts"
import { command, type CommandEntry, type CommandSpec } from "../../src/CommandSpec.ts"
import { parse } from "../../src/internal/arguments.ts"

const run = () => Effect.dieMessage("nothing is run here")

const entry = (spec: CommandSpec): CommandEntry => ({ ...spec, open: () => Promise.resolve(spec) })

const inner = command({ name: "show", summary: "Shows", operands: "ID", flags: {}, run })

const table = [
  entry(command({
    name: "run",
    aliases: ["agent"],
    summary: "Runs",
    operands: "[prompt…]",
    flags: {
      auto: { type: "switch", description: "" },
      model: { type: "text", value: "M", short: "m", description: "" },
      file: { type: "text", value: "F", short: "f", many: true, description: "" },
      steps: { type: "count", description: "" },
      timeout: { type: "duration", description: "" },
      format: { type: "choice", choices: ["default", "json"], description: "" }
    },
    run
  })),
  entry(command({
    name: "sessions",
    summary: "Lists",
    flags: { all: { type: "switch", description: "" } },
    commands: [inner],
    run
  }))
]

const flags = async (...argv: ReadonlyArray<string>) => {
  const parsed = await parse(table, ["run", ...argv])
  return parsed._tag === "Run" ? { ...parsed.input.flags, operands: parsed.input.operands } : parsed
}

describe("what was typed", () => {
  it("has every flag, given or not", async () => {
    expect(await flags()).toEqual({
      auto: false,
      model: undefined,
      file: [],
      steps: undefined,
      timeout: undefined,
      format: "default",
      verbose: false,
      "log-format": "text",
      operands: []
    })
  })

  it("takes values as --flag value, --flag=value and -f value", async () => {
    for (const argv of [["--model", "a/b"], ["--model=a/b"], ["-m", "a/b"], ["-ma/b"]]) {
      expect(await flags(...argv)).toMatchObject({ model: "a/b" })
    }
    expect(await flags("--timeout=90s", "--steps", "7", "--format=json", "--auto")).toMatchObject({
      timeout: 90_000,
      steps: 7,
      format: "json",
      auto: true
    })
  })

  it("keeps all values of a flag that may be given several times, and the last one of any other", async () => {
    expect(await flags("-f", "a", "--file=b", "-m", "x", "-m", "y")).toMatchObject({ file: ["a", "b"], model: "y" })
  })

  it("takes flags before, between and behind operands, and none after --", async () => {
    expect(await flags("one", "--auto", "two", "--", "--model", "-x")).toMatchObject({
      auto: true,
      model: undefined,
      operands: ["one", "two", "--model", "-x"]
    })
  })

  it("takes what begins with a dash as a value after =", async () => {
    expect(await flags("--model=-x")).toMatchObject({ model: "-x" })
    expect(await flags("--model", "-x")).toMatchObject({ _tag: "Mistake" })
  })

  it("finds commands by alias, and those below others", async () => {
    expect(await parse(table, ["agent", "x"])).toMatchObject({ _tag: "Run", command: { name: "run" } })
    expect(await parse(table, ["sessions"])).toMatchObject({ _tag: "Run", command: { name: "sessions" } })
    expect(await parse(table, ["sessions", "show", "ses_1"])).toMatchObject({
      _tag: "Run",
      command: { name: "show" },
      input: { operands: ["ses_1"] }
    })
  })

  it.each<readonly [argv: ReadonlyArray<string>, operands: ReadonlyArray<string>]>([
    [["zzz"], ["zzz"]],
    [["--", "rn"], ["rn"]],
    [["--auto", "--", "sessions"], ["sessions"]],
    [["--", "-m", "x"], ["-m", "x"]],
    [["in", "tests"], ["in", "tests"]],
    [["test", "the", "parser"], ["test", "the", "parser"]],
    [["Rnu", "hi"], ["Rnu", "hi"]],
    [["hello,", "what", "is this"], ["hello,", "what", "is this"]],
    [["what is this"], ["what is this"]],
    [["export", "the", "data"], ["export", "the", "data"]],
    [["plan", "the", "migration"], ["plan", "the", "migration"]],
    [["continue with the tests"], ["continue with the tests"]],
    [["import", "fails", "in", "a.ts"], ["import", "fails", "in", "a.ts"]],
    [["agent", "names", "are", "wrong"], ["names", "are", "wrong"]],
    [["--", "exec"], ["exec"]],
    [["zzz", "--", "rn"], ["zzz", "rn"]]
  ])("%j is a prompt", async (argv, operands) => {
    expect(await parse(table, argv)).toMatchObject({ _tag: "Run", command: { name: "run" }, input: { operands } })
  })

  it("may be a prompt on standard input alone, where that is no terminal", async () => {
    expect(await parse(table, [], { stdinIsTerminal: false })).toMatchObject({
      _tag: "Run",
      command: { name: "run" },
      input: { operands: [] }
    })
  })

  it.each([
    [[], { operands: [], flags: { resume: false } }],
    [["what", "is", "this"], { operands: ["what", "is", "this"] }],
    [["--resume"], { flags: { resume: true } }],
    [["-c", "--mode", "plan"], { flags: { continue: true, mode: "plan" } }]
  ])("%j opens a session on a terminal", async (argv, input) => {
    expect(await parse(table, argv, { stdinIsTerminal: true, session })).toMatchObject({
      _tag: "Run",
      command: { name: "session" },
      input
    })
  })

  it("resume means the list of sessions on a terminal", async () => {
    expect(await parse(commands, ["resume"], { stdinIsTerminal: true, session })).toEqual({
      _tag: "Mistake",
      message: expect.stringContaining("`skein --resume`")
    })
  })

  it.each([
    [["--budget-usd", "1"], { "budget-usd": "1" }],
    [["--budget-tokens", "9", "--timeout", "5m"], { "budget-tokens": 9, timeout: 300_000 }],
    [["--concurrency", "2", "--max-tasks", "3", "--max-steps", "4"], {
      concurrency: 2,
      "max-tasks": 3,
      "max-steps": 4
    }],
    [["-c", "--fork", "--title", "x"], { fork: true, title: "x" }],
    [["-f", "a.png", "--command", "review"], { file: ["a.png"], command: "review" }]
  ])("%j opens a session on a terminal, with the limits of a run", async (argv, flags) => {
    expect(await parse(commands, argv, { stdinIsTerminal: true, session })).toMatchObject({
      _tag: "Run",
      command: { name: "session" },
      input: { flags }
    })
  })

  it.each([
    [["-p", "hi"], "`skein run PROMPT` prints the answer and exits."],
    [["--print", "hi"], "`skein run PROMPT` prints the answer and exits."],
    [["-r", "ses_1"], "`skein run -s ID PROMPT` continues a session"],
    [["run", "--resume", "ses_1"], "`skein run -s ID PROMPT` continues a session"],
    [["--allowedTools", "Read", "hi"], "Set `permission` in skein.json"],
    [["--disallowedTools=Bash", "hi"], "\"deny\""],
    [["--output-format", "json", "hi"], "Its equivalent is --format."],
    [["--yolo", "hi"], "Its equivalent is --mode auto."],
    [["--dangerously-skip-permissions"], "Its equivalent is --mode auto."]
  ])("%j names what does the same", async (argv, equivalent) => {
    for (const opened of [session, undefined]) {
      expect(await parse(commands, argv, { stdinIsTerminal: true, session: opened })).toEqual({
        _tag: "Mistake",
        message: expect.stringContaining(equivalent)
      })
    }
  })

  it("is for run on a terminal as well, with flags that only run has", async () => {
    const parsed = await parse(table, ["--format", "json", "what is this"], { stdinIsTerminal: true, session })
    expect(parsed).toMatchObject({ _tag: "Run", command: { name: "run" } })
  })

  it.each([
    [[], []],
    [["--help"], []],
    [["help"], []],
    [["help", "run"], ["run"]],
    [["run", "-h", "--nonsense"], ["run"]],
    [["help", "sessions", "show"], ["sessions", "show"]],
    [["sessions", "show", "--help"], ["sessions", "show"]]
  ])("%j asks for help", async (argv, path) => {
    const parsed = await parse(table, argv)
    expect(parsed._tag === "Help" && parsed.path.map(({ name }) => name)).toEqual(path)
  })

  it.each([
    "fix",
    "list",
    "test",
    "explain",
    "add",
    "why",
    "edit",
    "solve",
    "hello",
    "keep",
    "app",
    "unit",
    "model",
    "update"
  ])(
    "%s and more words are a prompt",
    async (word) => {
      for (const rest of [["the", "bug"], ["this thing"]]) {
        expect(await parse(commands, [word, ...rest])).toMatchObject({
          _tag: "Run",
          input: { operands: [word, ...rest] }
        })
      }
    }
  )

  it.each<readonly [ReadonlyArray<string>, RegExp]>([
    [["rn"], /no command "rn"\. Did you mean `skein run`\? To send it as a prompt: `skein -- rn`\.$/],
    [["sesion"], /no command "sesion"\. Did you mean `skein sessions`\?/],
    [["-m", "x", "rnu"], /no command "rnu"\. Did you mean `skein run`\?/],
    [["sesions", "show", "x"], /no command "sesions"\. Did you mean `skein sessions`\? .*`skein -- …`\.$/],
    [["rnu", "hi"], /no command "rnu"\. Did you mean `skein run`\? .*`skein -- …`\.$/],
    [["rn", "the", "tests"], /no command "rn"\./],
    [["update"], /Did you mean `skein upgrade`\?/],
    [["resume"], /Did you mean `skein sessions resume ID`\?/],
    [["resume", "ses_01abc"], /Did you mean `skein sessions resume ID`\?/],
    [["agent", "list"], /no command "agent list"\. Did you mean `skein agents`\?/],
    [["auth", "login"], /no command "auth"\. Did you mean `skein models`\?/],
    [["exec", "fix the bug"], /Did you mean `skein run`\?/],
    [["exec", "-m", "x", "go"], /Did you mean `skein run`\?/],
    [["export", "ses_01abc"], /Did you mean `skein sessions export ID`\?/],
    [["import", "./tree.json"], /Did you mean `skein sessions import FILE`\?/],
    [["stats", "--all"], /Did you mean `skein sessions`\?/],
    [["usage"], /Did you mean `skein sessions`\?/],
    [["continue"], /Did you mean `skein -c`\?/],
    [["web"], /Did you mean `skein serve --open`\?/],
    [["attach", "http://127.0.0.1:4000"], /Did you mean `skein --attach=URL`\?/],
    [["chat"], /Did you mean `skein`\?/],
    [["hooks"], /Did you mean `skein config`\?/],
    [["plan"], /Did you mean `skein --mode plan`\?/],
    [["run", "--json", "x"], /no flag --json\. Its equivalent is --format json\./],
    [["sessions", "--yolo"], /no flag --yolo\. See/],
    [["rnu", "fix the bug"], /no command "rnu"\. Did you mean `skein run`\?/],
    [["--auto", "sessions"], /Write the command before its flags: `skein sessions …`/],
    [["--odd"], /`skein run` has no flag --odd/],
    [["sessions", "--all", "show", "x"], /Write "show" before the flags: `skein sessions show …`/],
    [["hepl"], /no command "hepl"\. Did you mean `skein help`\?/],
    [["help", "sessions", "shwo"], /`skein sessions` has no "shwo"\. Did you mean show\? It has show\.$/],
    [["help", "run", "foo"], /`skein run` has no "foo"\. See `skein run --help`\.$/],
    [["sessions", "show", " "], /`skein sessions show` needs ID, and got " "\.$/],
    [["help", "zzz"], /no command "zzz"\. See `skein help`/],
    [["run", "--mode", "x"], /has no flag --mode\. Did you mean --model\?/],
    [["run", "--m", "x"], /has no flag --m\./],
    [["run", "-x"], /has no flag -x\./],
    [["run", "--__proto__", "x"], /has no flag --__proto__/],
    [["run", "--auto=1"], /--auto takes no value, and got "1"/],
    [["run", "--no-auto"], /has no flag --no-auto/],
    [["run", "--steps="], /--steps needs a whole number from 1 to 999999999, and got ""/],
    [["run", "--steps", "1e3"], /--steps needs a whole number from 1 to 999999999, and got "1e3"/],
    [["run", "--steps", "-1"], /--steps needs a whole number from 1 to/],
    [["run", "--steps", "9999999999"], /from 1 to 999999999, and got "9999999999"/],
    [["run", "-m"], /-m needs a value \(M\), and got nothing/],
    [["sessions", "shw"], /`skein sessions` has no "shw"\. Did you mean show\?/],
    [["sessions", "show"], /needs ID/],
    [["sessions", "show", "a", "b"], /does not take "b"/],
    [["help", "rn"], /no command "rn"/]
  ])("%j is a mistake", async (argv, message) => {
    expect(await parse(table, argv)).toEqual({ _tag: "Mistake", message: expect.stringMatching(message) })
  })
})

it("every command is there under one name, with a summary that a line can hold", () => {
  const names = commands.flatMap(({ aliases = [], name }) => [name, ...aliases])
  expect(new Set(names).size).toBe(names.length)
  for (const { summary } of commands) expect(summary).toMatch(/^[A-Z].{1,70}[^.]$/)
})
