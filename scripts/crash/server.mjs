// @ts-check
// The script through `skein serve`: a client prompts, the server is killed at random and started again, and the client
// resumes after the last event that it got. What the client saw, and its order, is checked against the oracle.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { chance } from "./chance.mjs"
import { startModel } from "./model.mjs"
import { judge } from "./oracle.mjs"
import { makeWorld } from "./world.mjs"

/** @typedef {import("./drive.mjs").Verdict} Verdict */
/** @typedef {{ readonly label: string, readonly instants: ReadonlyArray<number> }} ServerPlan the time from each start to its kill, in milliseconds */
/** @typedef {{ readonly url: string, readonly token: string }} Found */

/** How often a client looks whether a server is there (ms). */
const pace = 20

/** Longer than a run takes: who has not answered by then hangs (ms). */
const patience = 90_000

/** The server that the files of a world tell of. @param {string} base @param {string} before @returns {Found | undefined} */
const findServer = (base, before) => {
  const directory = join(base, "data", "skein", "servers")
  try {
    const file = readdirSync(directory).find((name) => name.endsWith(".json"))
    const found = file === undefined ? undefined : JSON.parse(readFileSync(join(directory, file), "utf8"))
    return found === undefined || found.token === before ? undefined : found
  } catch {
    // It is being written, or not there yet.
    return undefined
  }
}

/** A client that remembers what it knows over the deaths of servers. @param {string} directory */
const makeClient = (directory) => {
  /** @type {Array<import("./world.mjs").Line>} */
  const events = []
  /** @type {Array<number>} */
  const order = []
  /** @type {Array<string>} */
  const trouble = []
  let session = ""
  let prompted = ""
  let done = false

  /** @param {Found} server @param {string} path @param {string} key @param {unknown} body */
  const post = async ({ token, url }, path, key, body) => {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify(body)
    })
    const answer = /** @type {any} */ (await response.json())
    if (response.status >= 400) trouble.push(`${path} was answered with ${response.status}: ${answer.detail}`)
    return answer
  }

  /** @param {string} block */
  const take = (block) => {
    const id = /^id: (\d+)$/m.exec(block)?.[1]
    const type = /^event: (.*)$/m.exec(block)?.[1]
    if (type === "reset") trouble.push(`the stream was reset: ${block}`)
    if (id === undefined) return
    order.push(Number(id))
    const event = JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "{}")
    events.push(event)
    if (event.type === "session.idle" && event.sessionID === session) done = true
  }

  /** @param {Found} server */
  const follow = async ({ token, url }) => {
    const last = order.at(-1)
    const response = await fetch(`${url}/v1/sessions/${session}/events?from=0`, {
      headers: { authorization: `Bearer ${token}`, ...(last === undefined ? {} : { "last-event-id": String(last) }) }
    })
    let rest = ""
    for await (const piece of /** @type {AsyncIterable<Uint8Array>} */ (/** @type {unknown} */ (response.body))) {
      const blocks = `${rest}${Buffer.from(piece).toString("utf8")}`.split("\n\n")
      rest = blocks.pop() ?? ""
      blocks.forEach(take)
      if (done) return
    }
  }

  return {
    events,
    order,
    trouble,
    isDone: () => done,
    session: () => session,
    /** Uses one server until the turn has ended or the server is gone. @param {Found} server */
    use: async (server) => {
      const created = await post(server, "/v1/sessions", "create", {
        directory,
        title: "crash",
        model: { providerID: "openai", modelID: "m" }
      })
      if (session !== "" && created.id !== session) trouble.push(`the session ${session} was created again`)
      session = created.id
      const { messageID } = await post(server, `/v1/sessions/${session}/prompt`, "prompt", {
        text: "Do all the steps, one after the other."
      })
      if (prompted !== "" && messageID !== prompted) trouble.push(`the prompt ${prompted} was stored again`)
      prompted = messageID
      await follow(server)
    }
  }
}

/** What is wrong with the numbers of the events that a client got. @param {ReadonlyArray<number>} order */
const brokenAt = (order) =>
  order.flatMap((seq, at) => seq === at + 1 ? [] : [`event ${at + 1} of the client has the number ${seq}`]).slice(0, 3)

/**
 * Carries out a plan.
 * @param {ServerPlan & { readonly program?: string | undefined }} plan
 * @returns {Promise<Verdict>}
 */
export const driveServer = async ({ instants, label, program }) => {
  const model = await startModel()
  const world = makeWorld({ url: model.url, program })
  const client = makeClient(world.project)
  const left = [...instants]
  const began = performance.now()
  let starts = 0
  let kills = 0
  let token = ""
  try {
    while (!client.isDone() && performance.now() - began < patience) {
      const after = left.shift()
      const { child, ended } = world.start(["serve"], after === undefined ? {} : { after })
      starts++
      let isOver = false
      void ended.then(() => isOver = true)
      /** @type {Found | undefined} */
      let server
      while (!isOver && server === undefined) {
        server = findServer(world.base, token)
        if (server === undefined) await sleep(pace)
      }
      if (server !== undefined) {
        token = server.token
        // A connection that breaks is what this is about.
        await client.use(server).catch(() => undefined)
      }
      if (client.isDone()) child.kill("SIGTERM")
      const { hung, signal, stderr } = await ended
      if (signal === "SIGKILL") kills++
      if (hung) client.trouble.push(`the server hung: ${stderr.slice(-300)}`)
    }
    if (!client.isDone()) client.trouble.push("the turn did not end")
    const texts = client.events.flatMap(({ properties, sessionID, type }) =>
      type === "message.part.updated" && sessionID === client.session() && properties.part.type === "text"
        ? [properties.part.text]
        : []
    )
    const result = { type: "result", text: texts.at(-1) }
    const verdict = judge({
      world,
      journal: client.events,
      ended: { code: 0, signal: null, stderr: "", hung: false, lines: [result] },
      faults: model.faults,
      isAsked: false
    })
    return {
      label,
      kills,
      starts,
      milliseconds: performance.now() - began,
      ...verdict,
      invalid: [...client.trouble, ...brokenAt(client.order), ...verdict.invalid]
    }
  } finally {
    model.close()
    world.remove()
  }
}

/**
 * Kills servers so many times at random, twice in each run.
 * @param {number} count
 * @param {number} span how long a run takes that nobody kills, in milliseconds
 * @returns {ReadonlyArray<ServerPlan>}
 */
export const serverPlans = (count, span) =>
  Array.from({ length: Math.ceil(count / 2) }, (_, at) => {
    const dice = chance(7_000_001 + at)
    const instants = [dice.next() * span, dice.next() * span * 0.8].map(Math.round)
    return { label: `server killed after ${instants.join(" and ")} ms`, instants }
  })
