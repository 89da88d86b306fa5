/** What a run was denied when it was requested stays denied in every process that continues it, whatever its config says. */
import { describe, expect, it } from "@effect/vitest"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import type { Places } from "@skein/core/StorageFilter"
import type { SessionID } from "@skein/domain/Id"
import type { PermissionConfig } from "@skein/domain/Rule"
import { type Script, tasks } from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import { agent, layer, type SkeinTestOptions, type TestAgent } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { results, touch, touching } from "./support/asking.ts"
import { type Generation, generations, resumed } from "./support/generations.ts"
import { childrenOf, root } from "./support/tree.ts"

const forbidden = expect.stringMatching(/(?:a rule|plan mode) forbids/)
const absent = expect.stringContaining("There is no tool \"touch\"")

const all = { edit: "allow", task: "allow" } as const
const notX = { "*": "allow", x: "deny" } as const

/** Rules for all agents, and the definitions of some. */
const config = (rules: PermissionConfig, chief: TestAgent = {}, worker: TestAgent = {}): SkeinTestOptions => ({
  rules,
  agents: [
    agent("chief", { mode: "primary", ...chief }),
    // It passes nothing down.
    agent("boss", { permission: { edit: "deny", task: "allow" }, ceiling: {} }),
    agent("lead", { permission: { task: "allow" } }),
    agent("free", { permission: { edit: "allow" } }),
    agent("worker", worker)
  ]
})

const strict = config({ ...all, edit: notX })
const lax = config(all, { permission: all }, { permission: { edit: "allow" } })

/** The last session of a path of agents. */
const at = Effect.fnUntraced(function*(rootID: SessionID, ...path: ReadonlyArray<string>) {
  let id = rootID
  for (const name of path) id = (yield* childrenOf(id)).findLast((child) => child.agent === name)?.id ?? id
  return id
})

/** The results of the calls of those sessions. */
const of = (rootID: SessionID, ...path: ReadonlyArray<string>) => Effect.flatMap(at(rootID, ...path), results)

const start = Effect.gen(function*() {
  const { id } = yield* root({ agent: "chief" })
  yield* Session.prompt(id, "Go")
})

/** What a model says once its process is dead. */
const late = { text: "late", delay: { first: 3_600_000 } }

/** A process that dies while the last agent of its scripts works, and one with another config. */
const continued = (
  first: Pick<Generation, "options" | "scripts"> & Partial<Pick<Generation, "dies">>,
  then: Pick<Generation, "options" | "scripts" | "program">
) =>
  generations(
    { dies: 60_000, tools: () => [touch], program: start, ...first },
    {
      tools: () => [touch],
      ...then,
      program: (id, script) => Effect.zipRight(resumed(id), then.program(id, script))
    }
  )

/** A worker that another process continues, and asks for x and y. */
const worker = (first: SkeinTestOptions, then: SkeinTestOptions, expected: ReadonlyArray<unknown>) =>
  continued(
    { options: first, scripts: { chief: [tasks({ worker: "p" })], worker: [late] } },
    {
      options: then,
      scripts: { chief: ["Done"], worker: [touching("x", "y"), "Done"] },
      program: (id) => Effect.map(of(id, "worker"), (found) => expect(found).toEqual(expected))
    }
  )

describe("a task that another process continues", () => {
  it("keeps what the rules for all agents denied", () => worker(strict, lax, [forbidden, "touched y"]))

  it("keeps what its own definition denied", () =>
    worker(config(all, {}, { permission: { edit: notX } }), lax, [forbidden, "touched y"]))

  it("keeps what its definition denied it, even if that is no ceiling", () =>
    worker(config(all, {}, { permission: { edit: notX }, ceiling: {} }), lax, [forbidden, "touched y"]))

  it("keeps its list of tools", () =>
    worker(config(all, {}, { permission: { "*": "deny", read: "allow" } }), lax, [absent, absent]))

  it("keeps what its caller was denied", () =>
    worker(config(all, { permission: { edit: notX } }), lax, [forbidden, "touched y"]))

  it("is denied what the present config denies, too", () =>
    worker(strict, config({ ...all, edit: { "*": "allow", y: "deny" } }), [forbidden, forbidden]))

  it("keeps what its definition excepted from the rules for all agents", () =>
    worker(config({ ...all, edit: "deny" }, {}, { permission: { edit: notX } }), lax, [forbidden, "touched y"]))

  it("keeps its denials at whichever commit the first process died", () => {
    const scripts: Record<string, Script> = {
      chief: [tasks({ worker: "p" }), "Done"],
      worker: [touching("x"), touching("x"), "Done"]
    }
    let kept = 0
    for (let commit = 3; commit < 12; commit++) {
      for (const made of [true, false]) {
        continued({ options: strict, scripts, dies: { at: commit, made } }, {
          options: lax,
          scripts: { chief: ["Done"], worker: [touching("x"), "Done"] },
          program: (id) =>
            Effect.gen(function*() {
              const { rows } = yield* Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID: id }))
              // Otherwise the second process requested it.
              const isKept = rows.some(({ terms }) => terms?.shared.some(({ length }) => length > 0))
              if (!isKept) return
              kept++
              expect(yield* of(id, "worker")).not.toContain("touched x")
            })
        })
      }
    }
    expect(kept).toBeGreaterThan(8)
  })

  it("keeps its time limit", () =>
    continued(
      {
        options: config(all, {}, { timeout: 120_000 }),
        scripts: { chief: [tasks({ worker: "p" })], worker: [late] }
      },
      {
        options: config(all, {}, { timeout: 7_200_000 }),
        scripts: { chief: ["Done"], worker: [late] },
        program: (id) =>
          Effect.map(results(id), ([result]) =>
            expect(result).toContain("The task ran longer than its timeout of 120000"))
      }
    ))
})

describe("what such a task starts", () => {
  const scripts: Record<string, Script> = { chief: [tasks({ lead: "p" })], lead: [late] }

  it("is denied what the rules for all agents denied then, at any depth", () =>
    continued({ options: strict, scripts }, {
      options: lax,
      scripts: {
        chief: ["Done"],
        "chief/lead": [tasks({ lead: "p" }), "Done"],
        "chief/lead/lead": [tasks({ worker: "p" }, { free: "p" }), "Done"],
        worker: [touching("x", "y"), "Done"],
        free: [touching("x"), "Done"]
      },
      program: (id) =>
        Effect.gen(function*() {
          expect(yield* of(id, "lead", "lead", "worker")).toEqual([forbidden, "touched y"])
          expect(yield* of(id, "lead", "lead", "free")).toEqual([forbidden])
        })
    }))

  it("is denied what its caller's definition denied then", () =>
    continued({
      options: { ...lax, agents: [...lax.agents ?? [], agent("lead", { permission: { task: "allow", edit: notX } })] },
      scripts
    }, {
      options: lax,
      scripts: { chief: ["Done"], lead: [tasks({ free: "p" }), "Done"], free: [touching("x", "y"), "Done"] },
      program: (id) => Effect.map(of(id, "lead", "free"), (found) => expect(found).toEqual([forbidden, "touched y"]))
    }))

  it("continues below it with its own denials, at depth 3", () =>
    continued({
      options: strict,
      scripts: {
        chief: [tasks({ lead: "p" })],
        "chief/lead": [tasks({ lead: "p" })],
        "chief/lead/lead": [tasks({ worker: "p" })],
        worker: [late]
      }
    }, {
      options: lax,
      scripts: { "*": ["Done"], worker: [touching("x", "y"), "Done"] },
      program: (id) =>
        Effect.map(of(id, "lead", "lead", "worker"), (found) => expect(found).toEqual([forbidden, "touched y"]))
    }))

  it("is not denied what only its own rules denied it, as before", () =>
    continued({
      options: strict,
      scripts: { chief: [tasks({ boss: "p" })], boss: [late] }
    }, {
      options: strict,
      scripts: { chief: ["Done"], boss: [tasks({ worker: "p" }), "Done"], worker: [touching("x", "y"), "Done"] },
      program: (id) => Effect.map(of(id, "boss", "worker"), (found) => expect(found).toEqual([forbidden, "touched y"]))
    }))

  it("may still do what its definition excepts, if the rules for all agents are the same", () =>
    continued({ options: strict, scripts }, {
      options: strict,
      scripts: { chief: ["Done"], lead: [tasks({ free: "p" }), "Done"], free: [touching("x"), "Done"] },
      program: (id) => Effect.map(of(id, "lead", "free"), (found) => expect(found).toEqual(["touched x"]))
    }))
})

describe("a task that is resumed by its id", () => {
  const again = (id: string) => ({
    calls: [{ tool: "task", input: { description: "again", prompt: "p", subagent_type: "worker", task_id: id } }]
  })
  /** Resumes the only task so far. */
  const resuming = (request: ModelRequest) => {
    const [first, ...more] = request.messages.flatMap((message) => message.role === "tool" ? message.content : [])
    const id = /^task_id: (\S+)/.exec(first?.output.value ?? "")?.[1] ?? ""
    return more.length === 0 ? again(id) : "Done"
  }
  const strictScripts = (lead: Script): Record<string, Script> => ({
    chief: [tasks({ lead: "p" }), "Done"],
    lead,
    worker: [touching("x"), "Done"]
  })

  it("is denied what its caller was denied when that began, while the caller's run lasts", () =>
    continued({ options: strict, scripts: strictScripts([tasks({ worker: "p" }), late]) }, {
      options: lax,
      scripts: {
        chief: ["Done"],
        lead: resuming,
        worker: [touching("x", "y"), "Done"]
      },
      program: (id) =>
        Effect.map(of(id, "lead", "worker"), (found) => expect(found).toEqual([forbidden, forbidden, "touched y"]))
    }))

  it("derives its permissions anew from a root, which follows the present config", () =>
    continued({
      options: strict,
      scripts: { chief: [tasks({ worker: "p" }), late], worker: [touching("x"), "Done"] }
    }, {
      options: lax,
      scripts: {
        chief: resuming,
        worker: [touching("x"), "Done"]
      },
      program: (id) => Effect.map(of(id, "worker"), (found) => expect(found).toEqual([forbidden, "touched x"]))
    }))
})

describe("a task at rest", () => {
  it("keeps what its last run was denied, if a person prompts it in another process", () =>
    continued({
      options: strict,
      scripts: { chief: [tasks({ worker: "p" }), late], worker: [touching("x"), "Done"] }
    }, {
      options: lax,
      scripts: { chief: ["Done"], worker: [touching("x", "y"), "Done"] },
      program: (id) =>
        Effect.gen(function*() {
          const task = yield* at(id, "worker")
          yield* Session.prompt(task, "Once more")
          expect(yield* results(task)).toEqual([forbidden, forbidden, "touched y"])
        })
    }))
})

it("what bounds a run is stored in the commit that stores the run", () =>
  simulate(
    Effect.gen(function*() {
      const inner = yield* SessionStorage
      const commits: Array<ReadonlyArray<Write>> = []
      const storage = Layer.succeed(SessionStorage, {
        ...inner,
        commit: (writes: ReadonlyArray<Write>, onStored?: (places: Places) => void) => {
          commits.push(writes)
          return inner.commit(writes, onStored)
        }
      })
      yield* Effect.provide(
        start,
        layer({ chief: [tasks({ worker: "p" }), "Done"], worker: ["Done"] }, { ...strict, storage })
      )
      const ofRun = commits.filter((writes) => writes.some(({ _tag }) => _tag === "Run"))
      // It is requested together with its session, begins, and settles.
      expect(ofRun).toHaveLength(3)
      expect(ofRun[0]?.map(({ _tag }) => _tag)).toEqual(["Fence", "Session", "Run", "Event", "Event"])
      expect(ofRun[0]?.[2]).toMatchObject({ run: { state: "queued", terms: { rules: [expect.anything()] } } })
    }).pipe(Effect.provide(SessionStorage.layerMemory)),
    { seed: 1 }
  ))
