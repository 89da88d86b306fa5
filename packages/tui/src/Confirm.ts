/** Asks one question at a terminal, before anything else is there. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { escapeLine } from "./Escape.ts"
import { type Item, Picker } from "./internal/list/Picker.ts"
import { isKey } from "./Key.ts"
import { keys } from "./Keyboard.ts"
import { Screen } from "./Screen.ts"
import type { SessionTerminal } from "./SessionHost.ts"
import { wrap } from "./Width.ts"

/** The answer: the value of what was chosen; undefined where the person left. Nothing is selected at first. */
export const confirm = (
  terminal: SessionTerminal,
  title: string,
  lines: ReadonlyArray<string>,
  items: ReadonlyArray<Item>
): Effect.Effect<string | undefined> =>
  Effect.scoped(Effect.gen(function*() {
    const picker = new Picker(title, items, true)
    const answer = yield* Deferred.make<string | undefined>()
    const screen = new Screen(terminal)
    const draw = () => {
      const size = terminal.size()
      const { columns, rows } = size
      const body = lines.flatMap((line) => wrap(escapeLine(line), columns - 3)).map((line) => `  ${line}`)
      const list = picker.lines(columns, 12, terminal.style)
      screen.draw([], [...body.slice(0, Math.max(1, rows - list.length - 2)), ...list], undefined, size)
    }
    const end = (value: string | undefined) => Deferred.unsafeDone(answer, Effect.succeed(value))
    yield* Effect.addFinalizer(() => Effect.sync(() => screen.close()))
    yield* keys(terminal.keyboard, {
      write: terminal.write,
      isEditor: true,
      onKeys: (read) => {
        for (const key of read) {
          const picked = picker.press(key)
          if (picked?.type === "taken") end(picked.value)
          if (picked?.type === "left" || isKey(key, "ctrl+d")) end(undefined)
        }
        draw()
      },
      onSuspend: () => screen.close(),
      onResume: draw,
      onClosed: () => end(undefined)
    })
    draw()
    yield* terminal.onResize(draw)
    return yield* Deferred.await(answer)
  }))
