/** Ways out of the sandbox, each as somebody would try it. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { layerIn, runIn, works, world } from "./support/sandbox.ts"

describe.skipIf(!works)("out of a sandbox (needs bubblewrap)", () => {
  it.live("leads no power, not even that of root", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      yield* Effect.gen(function*() {
        const run = (line: string) => runIn({ directory: repo, approved: [] }, line)
        for (
          const line of [
            "umount .skein",
            "umount .git/hooks",
            "mount -o remount,bind,rw / && touch /usr/skein-x",
            "mount -t tmpfs none .git",
            "unshare -U true",
            "unshare -Urm mount -t tmpfs none .skein",
            "chroot / true",
            "mknod disk b 254 0",
            // Nothing is written: opening says enough.
            ": >> /proc/sys/kernel/core_pattern",
            ": >> /proc/sys/kernel/modprobe",
            ": >> /proc/sysrq-trigger",
            ": >> /sys/kernel/uevent_helper",
            "nsenter -t 1 -m true",
            "su nobody -s /bin/true",
            `kill -0 ${process.pid}`
          ]
        ) {
          expect(yield* run(line), line).not.toMatchObject({ code: 0 })
        }
        expect((yield* run("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status")).output).toBe(
          `CapEff:\t${"0".repeat(16)}\nCapBnd:\t${"0".repeat(16)}\nNoNewPrivs:\t1\n`
        )
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.existsSync(at("disk"))).toBe(false)
    })))
})
