// @ts-check
// Somebody who looks at a tree all the time while servers die, as pages and dashboards do: that must change nothing.
import { setTimeout as sleep } from "node:timers/promises"

/** How long each look at one server takes at least (ms). */
const pace = 25

/**
 * Reads what there is to see of a tree, at each runner in turn, until it is over.
 * @param {ReturnType<typeof import("./client.mjs").makeClient>} client
 * @param {ReadonlyArray<import("./runner.mjs").Runner>} runners
 * @param {() => boolean} isOver
 */
export const lookAround = async (client, runners, isOver) => {
  for (let at = 0; !isOver(); at++) {
    await sleep(pace)
    const runner = runners[at % runners.length]?.up()
    if (runner === undefined || client.session() === "") continue
    const ids = [...new Set(client.events.flatMap(({ sessionID }) => sessionID ?? []))]
    const one = ids[at % ids.length] ?? client.session()
    const paths = ["", `/${one}`, `/${one}/messages`, `/${client.session()}/tree`]
    const path = `/v1/sessions${paths[at % paths.length]}`
    const { found: { token, url }, signal } = runner
    // It dies in the middle of an answer.
    const status = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` }, signal }).then(
      async (response) => {
        await response.arrayBuffer()
        return response.status
      },
      () => 0
    ).catch(() => 0)
    if (status === 500) client.trouble.push(`GET ${path} was answered with 500`)
  }
}
