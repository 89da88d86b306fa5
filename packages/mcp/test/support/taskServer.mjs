// An MCP server without the SDK that runs its tool as a task, and misbehaves as its first argument says; the second argument
// is the revision that it speaks. It notes what it gets in the file that NOTES names.
import { appendFileSync } from "node:fs"
import { createInterface } from "node:readline"

const [how = "fine", revision = "2026-07-28"] = process.argv.slice(2)
const isModern = revision === "2026-07-28"
const note = (/** @type {unknown} */ what) => {
  if (process.env.NOTES !== undefined) appendFileSync(process.env.NOTES, `${JSON.stringify(what)}\n`)
}
const send = (/** @type {object} */ message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const text = (/** @type {string} */ words) => ({ content: [{ type: "text", text: words }] })

const serverInfo = { name: "tasks", version: "1" }
const cached = { resultType: "complete", ttlMs: 0, cacheScope: "private" }
const tools = [{
  name: "work",
  inputSchema: { type: "object", properties: {} },
  execution: { taskSupport: "required" }
}]

let looks = 0
let isCancelled = false
/** @type {unknown} */
let answered
/** @type {((result: object) => void) | undefined} */
let waiting

const status = () => {
  if (how === "cancels-itself" && looks > 1) return "cancelled"
  if (how === "fails" && looks > 1) return "failed"
  if (how === "endless" || how === "late") return isCancelled && how === "late" ? "completed" : "working"
  if (how === "asks" && answered === undefined) return "input_required"
  return how === "at-once" || looks > 2 ? "completed" : "working"
}

const described = () => {
  const now = status()
  const task = {
    taskId: "task-1",
    status: now,
    statusMessage: `look ${how === "endless" ? 0 : looks}\u001b[31m`,
    createdAt: "2026-01-01T00:00:00Z",
    lastUpdatedAt: "2026-01-01T00:00:00Z"
  }
  return isModern
    ? {
      ...task,
      ttlMs: null,
      pollIntervalMs: 1,
      ...(now === "completed" ? { result: text(`done: ${JSON.stringify(answered ?? null)}`) } : {}),
      ...(now === "failed" ? { error: { code: -32_603, message: "out of cheese" } } : {}),
      ...(now === "input_required"
        ? {
          inputRequests: {
            which: {
              method: "elicitation/create",
              params: { mode: "form", message: "Which?", requestedSchema: { type: "object", properties: {} } }
            }
          }
        }
        : {})
    }
    : { ...task, ttl: null, pollInterval: 1 }
}

const made = () => {
  const task = described()
  if (how === "garbage") return isModern ? { resultType: "task", taskId: 7 } : { task: { taskId: 7 } }
  return isModern ? { resultType: "task", ...task } : { task }
}

const finish = () =>
  waiting?.(
    how === "fails" ? { ...text("out of cheese"), isError: true } : text(`done: ${JSON.stringify(answered ?? null)}`)
  )

const answer = (/** @type {any} */ { id, method, params }) => {
  const result = (/** @type {object} */ value) =>
    send({ id, result: isModern ? { resultType: "complete", ...value } : value })
  const error = (/** @type {number} */ code, /** @type {string} */ message) => send({ id, error: { code, message } })
  switch (method) {
    case "server/discover":
      return isModern
        ? result({ ...cached, supportedVersions: [revision], capabilities: { tools: {} }, serverInfo })
        : error(-32_601, "Method not found")
    case "initialize":
      return result({
        protocolVersion: revision,
        capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
        serverInfo
      })
    case "tools/list":
      return result({ ...(isModern ? cached : {}), tools })
    case "tools/call":
      if (how === "after-cancel") return
      if (how === "flood") {
        for (let at = 0; at < 20_000; at++) send({ method: "notifications/tasks/status", params: described() })
      }
      return send({ id, result: made() })
    case "tasks/get":
      looks++
      if (how === "forgets") return error(-32_602, "Task not found")
      if (how === "other") return result({ ...described(), taskId: "task-2" })
      if (!isModern && status() === "completed") finish()
      return result(described())
    case "tasks/result":
      if (how === "asks" && answered === undefined) {
        waiting = result
        return send({
          id: "ask",
          method: "elicitation/create",
          params: { mode: "form", message: "Which?", requestedSchema: { type: "object", properties: {} } }
        })
      }
      waiting = result
      return finish()
    case "tasks/update":
      answered = params.inputResponses.which
      return result({})
    case "tasks/cancel":
      isCancelled = true
      return result(isModern ? {} : described())
    default:
      return error(-32_601, "Method not found")
  }
}

/** @type {any} */
let call
createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line)
  note(message)
  if (message.method === "tools/call") call = message
  // The task is made only when nobody wants it any more.
  if (how === "after-cancel" && message.method === "notifications/cancelled") send({ id: call.id, result: made() })
  if (message.id === "ask") {
    answered = message.result
    finish()
  } else if (message.id !== undefined) answer(message)
})
