/** Owns what a person has asked for: each stays pending until an event shows that it happened. */
import { signal } from "@preact/signals"
import type { Event } from "@skein/domain/Event"
import { ask, messageOf } from "./api.ts"

/** Something that was asked for and has not happened yet, or could not. */
interface Pending {
  /** What it is about: an ask or a session. */
  readonly about: string
  /** What is said of it while it is under way, such as `Stopping`. */
  readonly label: string
  readonly problem?: string
}

/** What is asked for. */
interface Wish {
  readonly about: string
  readonly label: string
  readonly path: string
  readonly body?: unknown
  readonly idempotencyKey?: string
  /** Whether an event shows that it has happened. */
  readonly isDone: (event: Event) => boolean
  /** What is told when it has. */
  readonly done: string
}

interface Open extends Pending {
  readonly isDone: (event: Event) => boolean
  readonly done: string
}

const open = signal<ReadonlyArray<Open>>([])

/** What happened last, for those who hear the page. */
export const announced = signal("")

/** What is pending about an ask or a session. */
export const pendingOf = (about: string): Pending | undefined => open.value.find((each) => each.about === about)

const without = (wish: Open): void => void (open.value = open.value.filter((each) => each !== wish))

const settle = (wish: Open): void => {
  without(wish)
  announced.value = wish.done
}

/** Asks for something. It is done when an event says so, and not before. */
export const request = async (wish: Wish): Promise<boolean> => {
  const { about, body, done, idempotencyKey, isDone, label, path } = wish
  const entry: Open = { about, label, isDone, done }
  open.value = [...open.value.filter((each) => each.about !== about), entry]
  try {
    await ask("POST", path, { body, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) })
    return true
  } catch (error) {
    if (open.value.includes(entry)) {
      without(entry)
      open.value = [...open.value, { ...entry, problem: messageOf(error), isDone: () => false }]
      announced.value = `${label} failed: ${messageOf(error)}`
    }
    return false
  }
}

/** Takes an event in: what it confirms is no longer pending. */
export const confirm = (event: Event): void => {
  for (const wish of open.value) if (wish.problem === undefined && wish.isDone(event)) settle(wish)
}

/** A problem was read. */
export const dismiss = (about: string): void => void (open.value = open.value.filter((each) => each.about !== about))

/** Everything was read anew: what is still to happen is seen there, and no event tells of what happened meanwhile. */
export const reconcile = (isOver: (about: string) => boolean): void =>
  void (open.value = open.value.filter(({ about, problem }) => problem !== undefined || !isOver(about)))
