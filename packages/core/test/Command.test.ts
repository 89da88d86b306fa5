import { describe, expect, it } from "@effect/vitest"
import { Command, type CommandInfo } from "@skein/core/Command"
import { type Positional, positional } from "@skein/core/Commands"
import { on } from "@skein/core/Hooks"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { define, ToolError } from "@skein/core/Tool"
import type { PartInput } from "@skein/domain/Part"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { callsOf, childrenOf, messagesOf, resultOf, root } from "./support/tree.ts"

/** The directory of the sessions, which does not exist. */
const directory = "/project"

const command = (name: string, template: string, more: Partial<CommandInfo> = {}): CommandInfo => ({
  name,
  template,
  origin: `test/${name}.md`,
  hides: [],
  ...more
})

const commands = [
  command("plain", "Look at $1."),
  command("shell", "Status: !`git status $1`"),
  command("file", "Read @a.txt and @missing and $ARGUMENTS"),
  command("itself", "See @itself.md"),
  command("secret", "See @secret.txt"),
  command("hidden", "x", { agent: "title" }),
  command("lost", "x", { agent: "nobody" }),
  command("lostHere", "x", { agent: "nobody", subtask: false }),
  command("hiddenTask", "x", { agent: "title", subtask: true }),
  command("work", "Do $1 with @a.txt", { agent: "worker" }),
  command("here", "Do $1", { agent: "worker", subtask: false }),
  command("apart", "Do $1", { subtask: true, description: "Apart" }),
  command("asks", "x", { agent: "other", model: { providerID: "scripted", modelID: "model" } }),
  command("init", "Mine"),
  command("git/commit", "Commit."),
  command("git/push", "Push."),
  command("docs/push", "Publish.")
]

const files: Readonly<Record<string, string>> = {
  "a.txt": "text of a, with !`rm` and @b.txt",
  "b.txt": "text of b",
  "itself.md": "See @itself.md",
  "secret.txt": "s3cret"
}

const read = define({
  name: "read",
  describe: "Reads a file.",
  parameters: Schema.Struct({ filePath: Schema.String }),
  effect: "safe",
  title: ({ filePath }) => filePath,
  authorise: ({ filePath }) =>
    Effect.succeed([{ permission: "read", patterns: [filePath], always: [filePath], metadata: {} }]),
  execute: ({ filePath }) =>
    files[filePath] === undefined
      ? Effect.fail(new ToolError({ kind: "not_found", message: `${filePath} does not exist.` }))
      : Effect.succeed({ title: filePath, output: files[filePath], metadata: {} })
})

interface Line {
  readonly command: string
  readonly [positional]?: Positional
}

const stack = (
  options: Parameters<typeof SkeinTest.layer>[1] = {},
  bash: (line: Line) => Effect.Effect<string> = ({ command: line, [positional]: given }) =>
    Effect.succeed(`ran ${line} with ${JSON.stringify(given?.words)}\n`)
) => {
  const shell = define<Line>({
    name: "bash",
    describe: "Runs a command.",
    parameters: Schema.Struct({ command: Schema.String }),
    effect: "never",
    title: (line) => line.command,
    authorise: (line) =>
      Effect.succeed([{
        permission: "bash",
        patterns: [line[positional]?.shown ?? line.command],
        always: [],
        metadata: { command: line.command },
        exact: []
      }]),
    execute: (line) => Effect.map(bash(line), (output) => ({ title: "", output, metadata: {} }))
  })
  return Effect.provide(SkeinTest.layer({
    build: (request) => `build got: ${Scripted.lastText(request)}`,
    other: (request) => `other got: ${Scripted.lastText(request)}`,
    worker: (request) => `worker got: ${Scripted.lastText(request)}`
  }, {
    agents: [SkeinTest.agent("worker"), SkeinTest.agent("other", { mode: "primary" })],
    tools: [shell, read],
    rules: { bash: "allow" },
    commands: (directory) =>
      Effect.succeed({ commands, broken: [{ name: "broken", message: `${directory}/broken.md:2: unknown key` }] }),
    ...options
  }))
}

const expanded = (name: string, args?: string | ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const { id } = yield* root({ directory })
    const service = yield* Command
    return yield* service.expand(id, { name, ...(args === undefined ? {} : { arguments: args }) })
  })

const textsOf = (parts: ReadonlyArray<PartInput>) => parts.map((part) => part.type === "text" ? part.text : part.type)

describe("a command", () => {
  it.scoped("in a folder is found by its path, with a colon, and by its bare name if only one command has it", () =>
    Effect.gen(function*() {
      const service = yield* Command
      const named = (name: string) =>
        Effect.match(service.get(directory, name), {
          onFailure: (error) => `${error._tag}: ${error.message}`,
          onSuccess: (found) => found.name
        })
      expect(yield* Effect.forEach(["git/commit", "git:commit", "commit", "docs:push"], named)).toEqual([
        "git/commit",
        "git/commit",
        "git/commit",
        "docs/push"
      ])
      expect(yield* named("push")).toBe(
        "CommandNotFound: Several commands are called \"push\": docs/push, git/push. Write one in full."
      )
      expect(yield* named("hg/commit")).toContain("There is no command")
      expect(textsOf((yield* expanded("git:commit")).parts)).toEqual(["Commit."])
    }).pipe(stack()))

  it.scoped("becomes a prompt of its agent and model, and is published", () =>
    Effect.gen(function*() {
      const events = yield* record()
      const { id } = yield* root({ directory })
      const turn = yield* Command.run(id, { name: "asks", arguments: "for more" })
      expect(turn.info.agent).toBe("other")
      const [prompt] = yield* messagesOf(id)
      expect(prompt?.info).toMatchObject({ agent: "other", model: { providerID: "scripted", modelID: "model" } })
      expect(prompt?.parts).toMatchObject([{ type: "text", text: "x\n\nfor more" }])
      expect(events.of("command.executed").map((event) => [event.sessionID, event.properties])).toEqual([
        [id, { name: "asks", arguments: "for more" }]
      ])
    }).pipe(stack()))

  it.effect("is a subtask if its agent is a subagent, unless it says otherwise", () =>
    Effect.gen(function*() {
      const kinds = yield* Effect.forEach(
        ["plain", "work", "here", "apart"],
        (name) => Effect.map(expanded(name), ({ agent, parts }) => [name, parts[0]?.type, agent])
      )
      expect(kinds).toEqual([
        ["plain", "text", undefined],
        ["work", "subtask", undefined],
        ["here", "text", "worker"],
        ["apart", "subtask", undefined]
      ])
      const { parts } = yield* expanded("work", "it")
      expect(parts).toEqual([{
        type: "subtask",
        prompt: `Do it with @a.txt\n\n@a.txt, as the tool read shows it:\n\n${files["a.txt"]}`,
        description: "work",
        agent: "worker",
        command: "/work"
      }])
      expect((yield* expanded("apart")).parts).toMatchObject([{ description: "Apart", agent: "build" }])
    }).pipe(stack()))

  it.effect("that is a subtask runs, and the model continues with its result", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ directory })
      const turn = yield* Command.run(id, { name: "work", arguments: "it" })
      expect((yield* childrenOf(id)).map(({ agent, title }) => [agent, title])).toEqual([[
        "worker",
        "work (@worker subagent)"
      ]])
      const all = yield* messagesOf(id)
      expect(callsOf(all).map((call) => call.state.input)).toMatchObject([{
        command: "/work",
        subagent_type: "worker"
      }])
      expect(resultOf(callsOf(all)[0]!)).toContain("worker got: Do it with @a.txt")
      expect(turn.text).toBe("build got: Summarize the task tool output above and continue with your task.")
    }).pipe(stack()))

  it.effect("with an unknown agent fails as a task, and the model continues", () =>
    Effect.gen(function*() {
      for (const [name, agent] of [["lost", "nobody"], ["hiddenTask", "title"]] as const) {
        const { id } = yield* root({ directory })
        const turn = yield* Command.run(id, { name })
        expect(callsOf(yield* messagesOf(id)).map(resultOf)).toEqual([
          `Tool execution failed: Unknown agent type: ${agent} is not a valid agent type`
        ])
        expect(turn.text).toBe("build got: Summarize the task tool output above and continue with your task.")
      }
    }).pipe(stack()))

  it.effect("that is unknown or broken is reported, with the existing commands", () =>
    Effect.gen(function*() {
      const failed = (name: string) => Effect.map(Effect.flip(expanded(name)), ({ _tag, message }) => [_tag, message])
      expect(yield* failed("plian")).toEqual([
        "CommandNotFound",
        "There is no command \"plian\". Did you mean \"plain\"? See `skein commands`."
      ])
      expect(yield* failed("broken")).toEqual(["CommandInvalid", `${directory}/broken.md:2: unknown key`])
      expect((yield* failed("hidden"))[0]).toBe("CommandInvalid")
      expect((yield* failed("lostHere"))[0]).toBe("AgentNotFound")
    }).pipe(stack()))

  it.effect("replaces the built-in command of its name", () =>
    Effect.gen(function*() {
      const { commands: all } = yield* Effect.flatMap(Command, ({ list }) => list(directory))
      expect(all.filter(({ name }) => name === "init" || name === "review")).toMatchObject([
        { name: "init", origin: "test/init.md", hides: ["built in"] },
        { name: "review", origin: "built in", hides: [] }
      ])
      expect((yield* expanded("review", "main")).parts).toMatchObject([
        { text: expect.stringMatching(/^Review changes of this project: main\n/) }
      ])
    }).pipe(stack()))
})

describe("shell text of a command", () => {
  it.effect("is a call of bash, with the arguments next to the line", () =>
    Effect.gen(function*() {
      const { parts } = yield* expanded("shell", "\"a; b\"")
      expect(textsOf(parts)).toEqual(["Status: ran git status \"${1}\" with [\"a; b\"]"])
    }).pipe(stack({ rules: { bash: { "git status 'a; b'": "allow" } } })))

  it.effect("that is not permitted is mentioned in the prompt, and does not run", () =>
    Effect.gen(function*() {
      const { parts } = yield* expanded("shell")
      expect(textsOf(parts)[0]).toMatch(
        /^Status: \[`git status \$1` was not run: Permission denied: a rule forbids bash/
      )
    }).pipe(stack({ rules: { bash: "deny" } }, () => Effect.dieMessage("It ran"))))

  it.effect("follows the rules of the agent that answers, not those of the session", () =>
    Effect.gen(function*() {
      const { parts } = yield* expanded("here")
      expect(textsOf(parts)[0]).toContain("was not run: Permission denied")
    }).pipe(stack({
      agents: [SkeinTest.agent("worker", { permission: { bash: "deny" } })],
      commands: () =>
        Effect.succeed({ broken: [], commands: [command("here", "!`x`", { agent: "worker", subtask: false })] })
    })))

  it.effect("that a hook has changed needs permission in its changed form", () => {
    const inputs: Array<unknown> = []
    const other = on("PreToolUse", ({ input }) => {
      inputs.push(input)
      return Effect.succeed({ input: { command: "rm x" } })
    }, { matcher: "bash" })
    return Effect.gen(function*() {
      expect(textsOf((yield* expanded("shell", "x")).parts)[0]).toMatch(/a rule forbids bash \(rm x\)/)
      expect(inputs).toEqual([{ command: "git status 'x'" }])
    }).pipe(stack({ hooks: [other], rules: { bash: { "*": "allow", "rm *": "deny" } } }))
  })

  it.effect("passes the hooks, which may block or change the line", () => {
    const guard = on("PreToolUse", ({ input, tool }) =>
      Effect.succeed(
        tool === "bash" && JSON.stringify(input).includes("status")
          ? { decision: "allow" as const, input: { command: "echo changed" } }
          : { decision: "deny" as const, reason: "not here" }
      ))
    return Effect.gen(function*() {
      expect(textsOf((yield* expanded("shell", "x")).parts)).toEqual(["Status: ran echo changed with undefined"])
      expect(textsOf((yield* expanded("secret")).parts)[1]).toMatch(/^@secret.txt is not attached: .*not here/)
    }).pipe(stack({ hooks: [guard] }))
  })

  it.scoped("that a person rejects ends the command, and the session gets no prompt", () =>
    Effect.gen(function*() {
      const events = yield* record()
      const { id } = yield* root({ directory })
      const fiber = yield* Effect.fork(Effect.flip(Command.run(id, { name: "shell" })))
      const { properties } = yield* events.first("permission.asked")
      expect(properties).toMatchObject({ rootID: id, permission: "bash", patterns: ["git status "] })
      yield* Effect.flatMap(Permission, (permission) => permission.reply(properties.id, "reject"))
      expect((yield* Fiber.join(fiber))._tag).toBe("PermissionDenied")
      expect(yield* messagesOf(id)).toEqual([])
      expect(events.of("command.executed")).toEqual([])
    }).pipe(stack({ asks: "person", rules: { bash: "ask" } })))

  it.scoped("ends when the session is stopped, and nothing is prompted", () => {
    let ended = 0
    return Effect.gen(function*() {
      const { id } = yield* root({ directory })
      const running = yield* Effect.fork(Effect.flip(Command.run(id, { name: "shell" })))
      while (ended === 0) yield* Effect.yieldNow()
      yield* Effect.flatMap(Session, (session) => session.stop(id))
      expect((yield* Fiber.join(running))._tag).toBe("SessionStopped")
      expect(ended).toBe(2)
      expect(yield* messagesOf(id)).toEqual([])
    }).pipe(stack({}, () =>
      Effect.suspend(() => {
        ended = 1
        return Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended = 2))
      })))
  })
})

describe("names with @", () => {
  it.effect("in a template attach files, once; names in them and in the arguments have no effect", () =>
    Effect.gen(function*() {
      const { parts } = yield* expanded("file", "@b.txt !`rm` $1")
      expect(parts).toEqual([
        { type: "text", text: "Read @a.txt and @missing and @b.txt !`rm` $1" },
        { type: "text", text: `@a.txt, as the tool read shows it:\n\n${files["a.txt"]}`, synthetic: true }
      ])
      expect(textsOf((yield* expanded("itself")).parts)).toEqual([
        "See @itself.md",
        "@itself.md, as the tool read shows it:\n\nSee @itself.md"
      ])
    }).pipe(stack()))

  it.effect("need permission in a template, and not if a person wrote them; what is denied stays denied", () => {
    const tries = Effect.gen(function*() {
      const service = yield* Command
      const { id } = yield* root({ directory })
      const template = yield* service.expand(id, { name: "secret" })
      const prompt = yield* service.mentioned(id, "See @secret.txt")
      return [textsOf(template.parts)[1], textsOf(prompt)[1]]
    })
    return Effect.gen(function*() {
      const asked = yield* tries.pipe(stack({ rules: { read: "ask" } }))
      expect(asked).toEqual([
        expect.stringMatching(/^@secret.txt is not attached: Permission denied/),
        "@secret.txt, as the tool read shows it:\n\ns3cret"
      ])
      const denied = yield* tries.pipe(stack({ rules: { read: "deny" } }))
      expect(denied[1]).toMatch(/^@secret.txt is not attached: Permission denied/)
    })
  })

  it.effect("of subagents request them, and count as the person's consent", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "help" }), "Done."],
      worker: ["helped"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root({ directory })
      const parts = yield* Command.mentioned(id, "Ask @worker, not @build or @title")
      expect(parts).toEqual([
        { type: "text", text: "Ask @worker, not @build or @title" },
        { type: "agent", name: "worker" },
        {
          type: "text",
          text: "The user asks for the subagent worker: call task with subagent_type \"worker\".",
          synthetic: true
        }
      ])
      yield* Session.prompt(id, parts)
      expect(callsOf(yield* messagesOf(id)).map(({ state }) => state.status)).toEqual(["completed"])
    }).pipe(
      Effect.provide(SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")], rules: { task: "ask" } }))
    )
  })

  it.effect("leave a text unchanged if there are none, or no tool that reads", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ directory })
      expect(yield* Command.mentioned(id, "me@home.org")).toEqual([{ type: "text", text: "me@home.org" }])
      const exit = yield* Effect.exit(Command.mentioned(id, "@a.txt"))
      expect(Exit.isSuccess(exit)).toBe(true)
    }).pipe(Effect.provide(SkeinTest.layer({ build: [] }))))

  it.effect("are looked up fifty times at most, and attached while there is room", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ directory })
      const names = Array.from({ length: 60 }, (_, i) => `@f${i}`)
      const parts = yield* Command.mentioned(id, names.join(" "))
      expect(textsOf(parts).at(-1)).toContain("Only the first 50 names")
      const attached = textsOf(parts).filter((text) => text.includes("as the tool read shows it"))
      expect(attached.length).toBeLessThan(12)
      expect(textsOf(parts).at(-2)).toBe(
        "@f49 is not attached: the other files are long already. Read it where it is needed."
      )
    }).pipe(Effect.provide(SkeinTest.layer({ build: [] }, {
      tools: [SkeinTest.tool("read", () => Effect.succeed("x".repeat(50_000)))]
    }))))
})
