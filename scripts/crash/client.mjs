// @ts-check
// A client of servers that remembers what it knows over their deaths: it prompts once, and follows the tree's events from
// the last one that it got.

/** @typedef {{ readonly url: string, readonly token: string, readonly pid: number }} Found */

/** What another server may answer while a tree changes hands: ask again. */
const isBusy = (/** @type {number} */ status) => status === 409 || status === 423 || status === 503

/**
 * Makes one. `name` tells its requests from those of other clients of the same database.
 * @param {{ readonly directory: string, readonly name: string }} options
 */
export const makeClient = ({ directory, name }) => {
  /** @type {Array<import("./world.mjs").Line>} */
  const events = []
  /** @type {Array<number>} */
  const order = []
  /** @type {Array<string>} */
  const trouble = []
  let session = ""
  let prompted = ""
  let isIdle = false

  /** @param {string} token @param {string} [key] */
  const headers = (token, key) => ({
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    ...(key === undefined ? {} : { "idempotency-key": `${name}-${key}` })
  })

  /** @param {Found} server @param {string} path @param {string} key @param {unknown} body @param {AbortSignal} [signal] */
  const post = async ({ token, url }, path, key, body, signal) => {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: headers(token, key),
      body: JSON.stringify(body),
      signal: signal ?? null
    })
    const answer = /** @type {any} */ (await response.json())
    if (isBusy(response.status)) throw new Error(answer.detail)
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
    if (event.sessionID !== session) return
    if (event.type === "session.idle") isIdle = true
    else if (event.type === "message.updated") isIdle = false
  }

  /** Follows the events until the session is idle, and at least to `until`. @param {Found} server @param {AbortSignal} [signal] */
  const follow = async ({ token, url }, signal, until = 0) => {
    const isOver = () => isIdle && (order.at(-1) ?? 0) >= until
    if (order.length > 0 && isOver()) return
    const last = order.at(-1)
    const response = await fetch(`${url}/v1/sessions/${session}/events?from=0`, {
      headers: { ...headers(token), ...(last === undefined ? {} : { "last-event-id": String(last) }) },
      signal: signal ?? null
    })
    let rest = ""
    for await (const piece of /** @type {AsyncIterable<Uint8Array>} */ (/** @type {unknown} */ (response.body))) {
      const blocks = `${rest}${Buffer.from(piece).toString("utf8")}`.split("\n\n")
      rest = blocks.pop() ?? ""
      blocks.forEach(take)
      if (isOver()) return
    }
  }

  /** Follows the tree until nothing of it works. @param {Found} server @param {AbortSignal} [signal] */
  const settle = async (server, signal) => {
    const get = async (/** @type {string} */ what) => {
      const path = `/v1/sessions/${session}/${what}`
      const response = await fetch(`${server.url}${path}`, { headers: headers(server.token), signal: signal ?? null })
      const answer = /** @type {any} */ (await response.json())
      if (response.status >= 400) throw new Error(answer.detail)
      return answer
    }
    await get("rest")
    const { seq } = await get("position")
    await follow(server, signal, seq)
  }

  /** Creates the session and prompts it, unless that was done before. @param {Found} server @param {AbortSignal} [signal] */
  const begin = async (server, signal) => {
    const created = await post(
      server,
      "/v1/sessions",
      "create",
      { directory, title: "crash", model: { providerID: "openai", modelID: "m" } },
      signal
    )
    if (session !== "" && created.id !== session) trouble.push(`the session ${session} was created again`)
    session = created.id
    const path = `/v1/sessions/${session}/prompt`
    const { messageID } = await post(server, path, "prompt", { text: "Do all the steps, one after the other." }, signal)
    if (prompted !== "" && messageID !== prompted) trouble.push(`the prompt ${prompted} was stored again`)
    prompted = messageID
  }

  /** Asks a server to continue the tree; fails while another one holds it. @param {Found} server @param {AbortSignal} [signal] */
  const resume = async ({ token, url }, signal) => {
    const path = `/v1/sessions/${session}/resume`
    const response = await fetch(`${url}${path}`, { method: "POST", headers: headers(token), signal: signal ?? null })
    if (response.status < 400) return
    const { detail } = /** @type {any} */ (await response.json())
    if (isBusy(response.status)) throw new Error(detail)
    trouble.push(`${path} was answered with ${response.status}: ${detail}`)
  }

  return {
    events,
    order,
    trouble,
    /** Whether the last event that it got of the session says that nothing works in it. */
    isIdle: () => isIdle,
    session: () => session,
    begin,
    resume,
    follow,
    settle,
    /** How the program would have ended. @returns {import("./world.mjs").Ended} */
    ended: () => {
      const texts = events.flatMap(({ properties, sessionID, type }) =>
        type === "message.part.updated" && sessionID === session && properties.part.type === "text"
          ? [properties.part.text]
          : []
      )
      return { code: 0, signal: null, stderr: "", hung: false, lines: [{ type: "result", text: texts.at(-1) }] }
    }
  }
}

/** What is wrong with the numbers of the events that a client got. @param {ReadonlyArray<number>} order */
export const brokenAt = (order) =>
  order.flatMap((seq, at) => seq === at + 1 ? [] : [`event ${at + 1} of the client has the number ${seq}`]).slice(0, 3)
