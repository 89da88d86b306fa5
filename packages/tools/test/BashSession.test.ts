/** Agents that run real commands under rules: what is allowed runs, what is denied does not, and what is asked for waits. */
import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import type { SessionID } from "@skein/domain/Id"
import type { PermissionConfig } from "@skein/domain/Rule"
import { record } from "@skein/testing/RecordedEvents"
import { call } from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import { Workspace } from "./workspace.ts"

const rules: PermissionConfig = { bash: { "*": "ask", "git *": "allow", "echo *": "allow", "touch *": "deny" } }

/** A session whose model runs these commands at once, and then ends. */
const running = (commands: ReadonlyArray<string>, options: SkeinTest.SkeinTestOptions, agent = "build") =>
  Layer.unwrapEffect(
    Effect.map(
      Workspace,
      ({ tools, top }) =>
        SkeinTest.layer({ [agent]: [call("bash", ...commands.map((command) => ({ command }))), "Done."] }, {
          tools: [...tools.values()],
          rules,
          home: `${top}/home`,
          ...options
        })
    )
  ).pipe(Layer.provideMerge(Workspace.layer))

const begin = (agent = "build") =>
  Effect.flatMap(Workspace, ({ repo }) => Session.create({ directory: repo, agent, title: "Test" }))

/** What became of each command. */
const results = Effect.fnUntraced(function*(id: SessionID) {
  const messages = yield* Effect.flatMap(Session, (session) => session.messages(id))
  return messages.flatMap(({ parts }) => parts).flatMap((part) =>
    part.type !== "tool"
      ? []
      : part.state.status === "completed"
      ? [part.state.output]
      : part.state.status === "error"
      ? [part.state.error.message]
      : [part.state.status]
  )
})

describe("a session with bash", () => {
  it.scoped("runs what every part is allowed of, and nothing of what is denied somewhere", () =>
    Effect.gen(function*() {
      const { at } = yield* Workspace
      const { id } = yield* begin()
      yield* Session.prompt(id, "Go")
      expect(yield* results(id)).toEqual([
        "a\n",
        expect.stringContaining("a rule forbids bash (touch x) here."),
        expect.stringContaining("needs a person's consent"),
        expect.stringContaining("a rule forbids")
      ])
      expect(fs.existsSync(at("x"))).toBe(false)
    }).pipe(
      Effect.provide(
        running([
          "git --version >/dev/null && (echo a)",
          "echo a; touch x",
          "echo a > x",
          "git -c alias.x='!touch x' x"
        ], {})
      )
    ))

  it.scoped("asks once for a line that writes a file, and names both", () =>
    Effect.gen(function*() {
      const permission = yield* Permission
      const { read } = yield* Workspace
      const heard = yield* record()
      const { id } = yield* begin()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      const { properties } = yield* heard.first("permission.asked")
      expect(properties).toMatchObject({
        permission: "bash",
        patterns: ["sort"],
        metadata: { reasons: ["It also needs the permission edit: f."] }
      })
      yield* permission.reply(properties.id, "once")
      yield* Fiber.join(turn)
      expect(yield* results(id)).toEqual(["(no output)", expect.stringContaining("a rule forbids edit (g)")])
      expect(heard.of("permission.asked")).toHaveLength(1)
      expect(read("f")).toBe("x\n")
    }).pipe(
      Effect.provide(
        running(["sort <<< x > f", "sort <<< x > g"], {
          rules: { bash: { "*": "ask", "sort *": "ask" }, edit: { "*": "ask", g: "deny" } },
          asks: "person"
        })
      )
    ))

  it.scoped("holds rules for the home against commands", () =>
    Effect.gen(function*() {
      const { top, write } = yield* Workspace
      write(`${top}/home/out/s.txt`, "SECRET")
      const { id } = yield* begin()
      yield* Session.prompt(id, "Go")
      expect(yield* results(id)).toEqual([
        expect.stringContaining("a rule forbids read"),
        expect.stringContaining("a rule forbids edit")
      ])
      expect(fs.readdirSync(`${top}/home/out`)).toEqual(["s.txt"])
    }).pipe(
      Effect.provide(
        running(["cat ~/out/s.txt", "touch ~/out/x"], {
          rules: {
            external_directory: "allow",
            bash: "allow",
            read: { "*": "allow", "~/out/*": "deny" },
            edit: { "*": "allow", "~/out/*": "deny" }
          }
        })
      )
    ))

  it.scoped("a rule that allows the command answers only for the command", () =>
    Effect.gen(function*() {
      const permission = yield* Permission
      const heard = yield* record()
      const { id } = yield* begin()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      const { properties } = yield* heard.first("permission.asked")
      expect(properties).toMatchObject({ permission: "edit", patterns: ["f"] })
      yield* permission.reply(properties.id, "reject", { message: "No." })
      yield* Fiber.join(turn)
      expect(yield* results(id)).toEqual([expect.stringContaining("No.")])
      expect(heard.of("permission.asked")).toHaveLength(1)
    }).pipe(Effect.provide(running(["echo x > f"], { rules: { ...rules, edit: "ask" }, asks: "person" }))))

  it.scoped("asks a person for what no wildcard allows, and remembers the answer for just that", () =>
    Effect.gen(function*() {
      const permission = yield* Permission
      const heard = yield* record()
      const { id } = yield* begin()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      const { properties } = yield* heard.first("permission.asked")
      expect(properties).toMatchObject({
        permission: "bash",
        patterns: ["sh -c 'echo b'"],
        always: ["sh -c 'echo b'"],
        metadata: {
          command: "sh -c 'echo b'",
          reasons: ["sh runs what it is given", "To allow it, you need a rule that names it in full."]
        }
      })
      yield* permission.reply(properties.id, "always")
      yield* Fiber.join(turn)
      expect(yield* results(id)).toEqual(["b\n"])
      expect(heard.of("permission.asked")).toHaveLength(1)
    }).pipe(Effect.provide(running(["sh -c 'echo b'"], { asks: "person" }))))

  it.scoped("runs nothing where all is allowed without asking that is denied, may hide what is denied, or is protected", () =>
    Effect.gen(function*() {
      const { id } = yield* begin()
      yield* Session.prompt(id, "Go")
      expect(yield* results(id)).toEqual([
        "c\n",
        expect.stringContaining("needs a person's consent"),
        expect.stringContaining("a rule forbids"),
        expect.stringContaining("needs a person's consent")
      ])
    }).pipe(
      Effect.provide(running(["echo c", "x=echo; $x c", "x=touch; touch $x", "echo a > .envrc"], { asks: "auto" }))
    ))

  it.scoped("only reads where edits are denied", () =>
    Effect.gen(function*() {
      const { at, write } = yield* Workspace
      write("a.txt", "one\ntwo\n")
      const { id } = yield* begin("plan")
      yield* Session.prompt(id, "Go")
      expect(yield* results(id)).toEqual([
        "1\n",
        expect.stringContaining("plan mode forbids bash (git add a.txt) here"),
        expect.stringContaining("plan mode forbids edit (x) here")
      ])
      expect(fs.existsSync(at("x"))).toBe(false)
    }).pipe(
      Effect.provide(
        running(
          ["cat a.txt | grep -c two", "git add a.txt", "cat a.txt > x"],
          { rules: { bash: "allow", edit: "allow" } },
          "plan"
        )
      )
    ))
})
