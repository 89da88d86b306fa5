// @ts-check
// How long it takes until all children of a killed process work again.
import { startModel } from "./model.mjs"
import { makeWorld } from "./world.mjs"

/** How long is waited for all of them to be at work (ms). */
const patience = 60_000

/** Kills a root with this many running children, and resumes it. @param {number} children @param {string} [program] */
export const recovery = async (children, program) => {
  /** @type {Set<string>} */
  const working = new Set()
  let reached = () => {}
  let mayEnd = false
  const all = () => new Promise((resolve) => reached = () => resolve(undefined))
  const model = await startModel({}, (messages) => {
    const first = messages.find(({ role }) => role === "user")
    const [, name] = /CHILD (\d+):/.exec(JSON.stringify(first?.content)) ?? []
    if (name !== undefined) {
      working.add(name)
      if (working.size === children) reached()
      return mayEnd ? { text: `Child ${name} is done.`, calls: [] } : undefined
    }
    if (messages.at(-1)?.role === "tool") return { text: "All are done.", calls: [] }
    const calls = Array.from({ length: children }, (_, at) => ({
      tool: "task",
      args: { description: `child ${at}`, prompt: `CHILD ${at}: wait`, subagent_type: "general" }
    }))
    return { text: "They begin.", calls }
  })
  const limits = { concurrency: children, process_concurrency: children, max_tasks: children, requests: children }
  const world = makeWorld({ url: model.url, program, config: { limits } })
  const flags = ["--auto", "--format", "json"]
  const within = (/** @type {Promise<unknown>} */ reaching, /** @type {string} */ what) =>
    Promise.race([
      reaching,
      new Promise((_, reject) =>
        setTimeout(() => reject(new Error(`${what}: ${working.size} of ${children} after ${patience} ms`)), patience)
          .unref()
      )
    ])
  try {
    const atWork = all()
    const began = performance.now()
    const first = world.start(["run", "-m", "openai/m", "--title", "many", ...flags, "Begin."])
    await within(atWork, "they did not come to work")
    const starting = performance.now() - began
    first.child.kill("SIGKILL")
    await first.ended
    const root = world.look()?.sessions.find(({ depth }) => depth === 0)
    working.clear()
    const again = all()
    const killed = performance.now()
    const second = world.start(["sessions", "resume", root.id, ...flags])
    await within(again, "they did not start to work again")
    const recovering = performance.now() - killed
    mayEnd = true
    model.release()
    const { code } = await second.ended
    const runs = world.look()?.runs ?? []
    const completed = runs.filter(({ outcome }) => outcome?.status === "completed").length
    return { children, starting, recovering, code, runs: runs.length, completed }
  } finally {
    model.close()
    world.remove()
  }
}
