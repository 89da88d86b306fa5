import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readdirSync, readFileSync } from "node:fs"
import { makeWatchdog } from "../../src/internal/watchdog/makeWatchdog.ts"

const read = (file: string): string => {
  try {
    return readFileSync(file, "latin1")
  } catch {
    return ""
  }
}

/** The watchdogs of this process. */
const watchdogs = () =>
  readdirSync("/proc").map(Number).filter((pid) =>
    pid > 0 && new RegExp(`^PPid:\\s+${process.pid}$`, "m").test(read(`/proc/${pid}/status`))
    && read(`/proc/${pid}/cmdline`).includes("SKEIN_GROUP=")
  )

const until = (isSo: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => isSo() ? Effect.void : Effect.zipRight(Effect.sleep("10 millis"), until(isSo)))

it.live.skipIf(process.platform !== "linux")(
  "is started again if it is killed while a command runs that has no lease",
  () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const { watch } = yield* makeWatchdog({})
        yield* watch("mark", undefined)
        yield* until(() => watchdogs().length === 1)
        const [first = 0] = watchdogs()
        process.kill(first, "SIGKILL")
        yield* until(() => watchdogs().some((pid) => pid !== first))
        expect(watchdogs()).toHaveLength(1)
      }))
      yield* until(() => watchdogs().length === 0)
    })
)
