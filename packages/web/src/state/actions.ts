/** Owns what a person has requested. Each request is pending until an event shows that it happened. */
import { signal } from "@preact/signals"
import type { Event } from "@skein/domain/Event"
import { ask, messageOf } from "./api.ts"

/** A request that is pending, or that failed. */
interface Pending {
  /** Its subject: a question or a session. */
  readonly about: string
  /** What is shown while it is pending, such as `Stopping`. */
  readonly label: string
  readonly problem?: string
}

/** A request. */
interface Wish {
  readonly about: string
  readonly label: string
  readonly path: string
  readonly body?: object | (() => Promise<object>)
  readonly idempotencyKey?: string
  /** Whether an event shows that it has happened. */
  readonly isDone: (event: Event) => boolean
  /** What is announced when it has happened. */
  readonly done: string
}

interface Open extends Pending {
  readonly isDone: (event: Event) => boolean
  readonly done: string
}

const open = signal<ReadonlyArray<Open>>([])

/** The latest event, for screen readers. */
export const announced = signal("")

/** The pending requests for a question or a session. */
export const pendingOf = (about: string): Pending | undefined => open.value.find((each) => each.about === about)

const without = (wish: Open): void => void (open.value = open.value.filter((each) => each !== wish))

const settle = (wish: Open): void => {
  without(wish)
  announced.value = wish.done
}

/** Shows what a person should know about a request that was accepted: names in a prompt that matched nothing. */
export const note = (about: string, notes: ReadonlyArray<string>): void => {
  if (notes.length === 0) return
  const [label, problem] = ["Sending", notes.join(" ")]
  open.value = [...open.value.filter((each) => each.about !== about), {
    about,
    label,
    problem,
    isDone: () => false,
    done: ""
  }]
  announced.value = problem
}

/** Makes a request. Only an event completes it. */
export const request = async (wish: Wish): Promise<boolean> => {
  const { about, body, done, idempotencyKey, isDone, label, path } = wish
  const entry: Open = { about, label, isDone, done }
  open.value = [...open.value.filter((each) => each.about !== about), entry]
  try {
    const answer = await ask<{ readonly notes?: ReadonlyArray<string> } | undefined>("POST", path, {
      body: typeof body === "function" ? await body() : body,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey })
    })
    note(about, answer?.notes ?? [])
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

/** Applies an event. What it confirms is no longer pending. */
export const confirm = (event: Event): void => {
  for (const wish of open.value) if (wish.problem === undefined && wish.isDone(event)) settle(wish)
}

/** A problem was dismissed. */
export const dismiss = (about: string): void => void (open.value = open.value.filter((each) => each.about !== about))

/** Everything was reloaded. It shows what is still pending, and no event will confirm what happened meanwhile. */
export const reconcile = (isOver: (about: string) => boolean): void =>
  void (open.value = open.value.filter(({ about, problem }) => problem !== undefined || !isOver(about)))
