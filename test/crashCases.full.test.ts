/** What happens to calls and tasks whose process dies, or is asked to end, at the worst moment. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type Llm, type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

type Script = (request: LlmRequest) => LlmAnswer | string | Promise<LlmAnswer | string>

const world = async (script: Script, files: Readonly<Record<string, string>> = {}) => {
  const llm: Llm = await startLlm(script)
  const place: Sandbox = sandbox({ llm: llm.url, files })
  atEnd(llm.close, place.remove)
  const effects = () => {
    try {
      return readFileSync(join(place.project, "effects.log"), "utf8").trim().split("\n")
    } catch {
      return []
    }
  }
  const sessions = async (...args: ReadonlyArray<string>) =>
    JSON.parse((await place.run(["sessions", ...args, "--format", "json"])).stdout)
  /** Runs until a point kills it; returns the session. */
  const killedAt = async (failpoint: string) => {
    const { signal } = await place.run([...run, "go"], { env: { SKEIN_FAILPOINT: failpoint } })
    expect(signal).toBe("SIGKILL")
    const [{ id }] = await sessions("list")
    return String(id)
  }
  const resume = (id: string) => place.run(["sessions", "resume", id, "--auto", "--format", "quiet"])
  return { effects, killedAt, llm, place, resume, sessions }
}

const run = ["run", "-m", "openai/m", "--title", "t", "--auto"]

/** The results in a request, in order. */
const resultsIn = ({ messages }: LlmRequest): ReadonlyArray<string> =>
  messages.filter(({ role }) => role === "tool").map(({ content }) => String(content))

interface ToolPart {
  readonly type: string
  readonly tool: string
  readonly state: { readonly status: string; readonly error?: { readonly tag: string; readonly message: string } }
}

const callsOf = ({ messages }: { readonly messages: ReadonlyArray<{ readonly parts: ReadonlyArray<ToolPart> }> }) =>
  messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool"))

/** A model that makes one call, and accepts any result. */
const once = (tool: string, args: unknown): Script => (request) =>
  resultsIn(request).length === 0 ? { calls: [{ tool, args }] } : "done"

/** The processes with this in their command line that are alive, in any namespace; unreaped ones count. */
const livingWith = (text: string): ReadonlyArray<string> =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(text)
    } catch {
      return false
    }
  })

const effect = { command: "echo made >> effects.log; echo it is made; sleep 5" }

describe("a command", () => {
  it("that was made, with an unknown end, is reported as unknown and not made again", async () => {
    const { effects, killedAt, llm, resume, sessions } = await world(once("bash", effect))
    const id = await killedAt("effect_done_before_exit:1")
    expect(effects()).toEqual(["made"])
    expect(await resume(id)).toMatchObject({ code: 0, stdout: "done\n" })
    const [{ state }] = callsOf(await sessions("show", id)) as [ToolPart]
    expect(state).toMatchObject({ status: "error", error: { tag: "interrupted" } })
    expect(state.error?.message).toMatch(/interrupted, outcome unknown/)
    expect(llm.requests.flatMap(resultsIn)).toEqual([expect.stringContaining("outcome unknown")])
    expect(effects()).toEqual(["made"])
  })

  it("without a stored intent had not begun: it is made once, when the model asks again", async () => {
    const { effects, killedAt, resume } = await world(once("bash", { command: "echo made >> effects.log" }))
    const id = await killedAt("intent_before_commit:1")
    expect(effects()).toEqual([])
    expect(await resume(id)).toMatchObject({ code: 0 })
    expect(effects()).toEqual(["made"])
  })

  it.each([["SIGTERM", 143], ["SIGHUP", 129]] as const)(
    "that runs for a minute ends with the program on %s, and is reported as interrupted",
    async (signal, code) => {
      const minute = `60.${process.pid}${code}`
      const { place, sessions } = await world(once("bash", { command: `sleep ${minute} & wait` }))
      const running = place.start([...run, "--format", "json", "go"])
      await vi.waitFor(() => expect(livingWith(minute)).toHaveLength(1), { timeout: 20_000 })
      const began = performance.now()
      running.child.kill(signal)
      const ended = await running.ended
      expect(ended.code).toBe(code)
      expect(performance.now() - began).toBeLessThan(10_000)
      expect(livingWith(minute)).toEqual([])
      const [{ id }] = await sessions("list")
      const [{ state }] = callsOf(await sessions("show", id)) as [ToolPart]
      expect(state).toMatchObject({ status: "error", error: { tag: "interrupted" } })
    }
  )
})

it("a file that was being read when the process died is read again, and has one result", async () => {
  const { killedAt, llm, resume } = await world(once("read", { filePath: "a.txt" }), { "a.txt": "needle\n" })
  const id = await killedAt("exit_before_result_commit:1")
  expect(await resume(id)).toMatchObject({ code: 0, stdout: "done\n" })
  expect(llm.requests.flatMap(resultsIn)).toEqual([expect.stringContaining("needle")])
})

it("a parent that died with eight running children gets eight results, each once", async () => {
  const names = Array.from({ length: 8 }, (_, at) => `child ${at}`)
  let hangs = true
  const { llm, place, resume, sessions } = await world(({ messages, user: [asked = ""] }) => {
    if (asked.startsWith("child")) return hangs ? { hangs } : `${asked} says so`
    if (messages.at(-1)?.role === "tool") return "done"
    const calls = names.map((prompt) => ({
      tool: "task",
      args: { description: prompt, prompt, subagent_type: "general" }
    }))
    return { calls }
  })
  const running = place.start([...run, "go"])
  await llm.asked(9)
  running.child.kill("SIGKILL")
  await running.ended
  hangs = false
  const [{ id }] = await sessions("list")
  const began = performance.now()
  expect(await resume(id)).toMatchObject({ code: 0, stdout: "done\n" })
  expect(performance.now() - began).toBeLessThan(5_000)
  const results = llm.requests.at(-1)
  expect(results === undefined ? [] : resultsIn(results)).toEqual(
    names.map((name) => expect.stringContaining(`${name} says so`))
  )
  expect(callsOf(await sessions("show", id)).map(({ state }) => state.status)).toEqual(names.map(() => "completed"))
})

describe("the end of a task in the background wakes its caller once", () => {
  const news = (request: LlmRequest | undefined): number =>
    request?.user.join("\n").match(/<task-notification/g)?.length ?? 0

  /** `waits`: what the parent's second answer waits for, and the child's. */
  const background =
    (parent: () => Promise<void> | undefined, child: () => Promise<void> | undefined): Script => async (request) => {
      const { messages, user: [asked = ""] } = request
      if (asked === "in the background") {
        await child()
        return "found it"
      }
      if (resultsIn(request).length === 0) {
        const args = { description: "bg", prompt: "in the background", subagent_type: "general", background: true }
        return { calls: [{ tool: "task", args }] }
      }
      if (news(request) === 0 && messages.at(-1)?.role === "tool") await parent()
      return news(request) === 0 ? "waiting" : "done"
    }

  it("while it streams", async () => {
    let asked = () => {}
    const childAsked = new Promise<void>((resolve) => asked = resolve)
    const { llm, place } = await world(background(() => childAsked, () => void asked()))
    expect(await place.run([...run, "--format", "quiet", "go"])).toMatchObject({ code: 0, stdout: "done\n" })
    expect(news(llm.requests.at(-1))).toBe(1)
  })

  it("while it is idle", async () => {
    let answered = () => {}
    const parentAnswered = new Promise<void>((resolve) => answered = resolve)
    const { llm, place } = await world(background(() => undefined, () => parentAnswered))
    const running = place.start([...run, "--format", "json", "go"])
    running.child.stdout?.on("data", () => {
      if (/"type":"session.idle"[^\n]*"depth":0/.test(running.output())) answered()
    })
    expect((await running.ended).code).toBe(0)
    expect(news(llm.requests.at(-1))).toBe(1)
  })

  it.each(["bg_done_committed:1", "wake_sent_before_mark:1"])("while its process is dead (%s)", async (failpoint) => {
    const { killedAt, llm, resume } = await world(background(() => undefined, () => undefined))
    const id = await killedAt(failpoint)
    expect(await resume(id)).toMatchObject({ code: 0, stdout: "done\n" })
    expect(news(llm.requests.at(-1))).toBe(1)
    expect(await resume(id)).toMatchObject({ code: 0, stdout: "done\n" })
    expect(news(llm.requests.at(-1))).toBe(1)
  })
  it("and resuming prints the last answer alone, however many there were before it", async () => {
    let isRecovering = false
    let told = () => {}
    const firstIsTold = new Promise<void>((resolve) => told = resolve)
    const { llm, place, sessions } = await world(async (request) => {
      const { user: [asked = ""] } = request
      if (asked === "first" || asked === "second") {
        if (!isRecovering) return { hangs: true }
        if (asked === "second") await firstIsTold
        return "found it"
      }
      if (resultsIn(request).length === 0) {
        return {
          calls: ["first", "second"].map((prompt) => ({
            tool: "task",
            args: { description: prompt, prompt, subagent_type: "general", background: true }
          }))
        }
      }
      const known = news(request)
      if (known === 1) told()
      return `${known} known`
    })
    const running = place.start([...run, "go"])
    await llm.asked(4)
    running.child.kill("SIGKILL")
    await running.ended
    isRecovering = true
    const [{ id }] = await sessions("list")
    const resumed = await place.run(["sessions", "resume", id, "--auto"])
    expect(resumed, resumed.stderr).toMatchObject({ code: 0, stdout: "2 known\n" })
    expect(llm.requests.filter((request) => news(request) === 1)).not.toEqual([])
  })
})
