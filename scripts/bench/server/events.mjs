// @ts-check
// Many clients of one tree: whether each gets every event in order, and what that takes.
import { setTimeout as sleep } from "node:timers/promises"
import { cpuOf, memoryOf, serve } from "./serve.mjs"

/** The highest id in a piece of a stream, checked against the one before. */
const reader = () => {
  let rest = ""
  let last = 0
  let inOrder = true
  return {
    /** @param {Buffer} piece */
    read: (piece) => {
      const text = rest + piece.toString("latin1")
      const end = text.lastIndexOf("\n")
      rest = text.slice(end + 1)
      for (const [, id] of text.slice(0, end + 1).matchAll(/^id: (\d+)$/gm)) {
        if (last !== 0 && Number(id) !== last + 1) inOrder = false
        last = Number(id)
      }
    },
    last: () => last,
    inOrder: () => inOrder
  }
}

/** @param {{ subscribers: number, perSecond: number, seconds: number }} load */
export const measureEvents = async ({ perSecond, seconds, subscribers }) => {
  const server = await serve()
  const { id } = await server.send("POST", "/v1/sessions", { directory: server.project })
  const before = memoryOf(server.pid)
  const readers = Array.from({ length: subscribers }, reader)
  for (const { read } of readers) await server.stream(`/v1/sessions/${id}/events?from=0`, read)

  const began = performance.now()
  const cpu = cpuOf(server.pid)
  const count = perSecond * seconds
  let most = 0
  const sent = []
  for (let index = 0; index < count; index++) {
    const due = began + index * 1000 / perSecond
    const wait = due - performance.now()
    if (wait > 0) await sleep(wait)
    sent.push(server.send("PATCH", `/v1/sessions/${id}`, { title: `title ${index}` }))
    if (index % perSecond === 0) most = Math.max(most, memoryOf(server.pid))
  }
  await Promise.all(sent)
  const last = count + 1
  while (readers.some((each) => each.last() < last)) {
    if (performance.now() - began > (seconds + 120) * 1000) break
    await sleep(20)
  }
  const took = (performance.now() - began) / 1000
  // Where others use the machine, it takes longer than it is meant to: what counts is the work for one second of events.
  const cores = (cpuOf(server.pid) - cpu) / seconds
  const complete = readers.filter((each) => each.inOrder() && each.last() === last).length
  await server.close()
  const name = `${subscribers} clients x ${perSecond} events/s, ${seconds} s`
  return [
    {
      name: `${name}: complete and in order`,
      value: `${complete}`,
      target: `${subscribers}`,
      met: complete === subscribers
    },
    { name: `${name}: took`, value: `${took.toFixed(1)} s`, target: `${seconds} s + 1`, met: took < seconds + 1 },
    { name: `${name}: cores`, value: cores.toFixed(2), target: "at most 1", met: cores <= 1 },
    {
      name: `${name}: memory above idle`,
      value: `${(most - before).toFixed(0)} MB`,
      target: "at most 256",
      met: most - before <= 256
    }
  ]
}
