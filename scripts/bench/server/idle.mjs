// @ts-check
// The memory of many idle clients, and of one that does not read.
import { setTimeout as sleep } from "node:timers/promises"
import { memoryOf, serve } from "./serve.mjs"

/** Clients that do not read are told apart by what a hundred of them take. */
const unread = 100

/** @param {number} clients */
export const measureIdle = async (clients) => {
  const server = await serve()
  const { id } = await server.send("POST", "/v1/sessions", { directory: server.project })
  const path = `/v1/sessions/${id}/events`
  await server.stream(path, () => undefined)
  const before = memoryOf(server.pid)
  for (let index = 0; index < clients; index += 100) {
    await Promise.all(
      Array.from({ length: Math.min(100, clients - index) }, () => server.stream(path, () => undefined))
    )
  }
  await sleep(1_000)
  const idle = memoryOf(server.pid) - before
  await server.close()

  const other = await serve()
  const { id: session } = await other.send("POST", "/v1/sessions", { directory: other.project })
  const text = "x".repeat(20_000)
  const publish = async (/** @type {number} */ count) => {
    for (let index = 0; index < count; index++) {
      await other.send("PATCH", `/v1/sessions/${session}`, { title: `${index} ${text}` })
    }
  }
  await other.stream(`/v1/sessions/${session}/events`, () => undefined)
  await publish(200)
  const calm = memoryOf(other.pid)
  for (let index = 0; index < unread; index++) {
    const socket = await other.stream(`/v1/sessions/${session}/events`, () => undefined)
    socket.pause()
  }
  await publish(600)
  const each = (memoryOf(other.pid) - calm) / unread
  await other.close()
  return [
    {
      name: `${clients} idle clients: memory above idle`,
      value: `${idle.toFixed(0)} MB`,
      target: "at most 200",
      met: idle <= 200
    },
    { name: "a client that does not read", value: `${each.toFixed(2)} MB`, target: "at most 4", met: each <= 4 }
  ]
}
