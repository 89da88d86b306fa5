/** Spans, if a tracer collects them. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Tracer from "effect/Tracer"

/** The default tracer, which exports no spans. */
const unseen = Context.get(DefaultServices.liveServices, Tracer.Tracer)

/** What a span says. */
export type Attributes = Readonly<Record<string, unknown>>

/** How a span's work ended. */
export interface Ended {
  /** `completed`, or a word for anything else. */
  readonly outcome: string
  /** Whether the span has failed. */
  readonly failed: boolean
  readonly attributes?: Attributes
}

/** A failure in a span: only its kind, because messages may quote prompts, arguments and outputs. */
const failure = (kind: string) => {
  const error = new Error(kind)
  error.name = kind
  return Exit.fail(error)
}

const kindOfError = (error: unknown): string => {
  if (typeof error !== "object" || error === null || !("_tag" in error)) return "defect"
  return error._tag === "ModelError" && "reason" in error ? String(error.reason) : String(error._tag)
}

/** A word for a cause: the reason of a model error, the tag of another error, `interrupted` or `defect`. */
export const kindOf = (cause: Cause.Cause<unknown>): string =>
  Cause.isInterruptedOnly(cause) ? "interrupted" : kindOfError(Cause.squash(cause))

/**
 * Runs an effect in a span; `ended` says how it ended if the exit alone does not. Without a tracer there is no span: on
 * the path of every step and call even an unused one costs.
 */
export const traced = <A, E, R>(
  name: string,
  attributes: () => Attributes,
  effect: Effect.Effect<A, E, R>,
  ended: (exit: Exit.Exit<A, E>) => Ended | undefined = () => undefined
): Effect.Effect<A, E, R> =>
  Effect.tracerWith((tracer): Effect.Effect<A, E, R> =>
    tracer === unseen ? effect : Effect.acquireUseRelease(
      Effect.suspend(() => Effect.makeSpan(name, { attributes: attributes() })),
      (span) => Effect.withParentSpan(effect, span),
      (span, exit) =>
        Effect.clockWith((clock) => Effect.sync(() => close(span, clock.unsafeCurrentTimeNanos(), exit, ended(exit))))
    )
  )

const close = (span: Tracer.Span, now: bigint, exit: Exit.Exit<unknown, unknown>, known: Ended | undefined) => {
  const { attributes, failed, outcome } = known ?? endOf(exit)
  for (const [key, value] of Object.entries(attributes ?? {})) span.attribute(key, value)
  span.attribute("skein.outcome", outcome)
  if (failed) span.attribute("error.type", outcome)
  span.end(now, failed ? failure(outcome) : Exit.isInterrupted(exit) ? Exit.interrupt(FiberId.none) : Exit.void)
}

const endOf = (exit: Exit.Exit<unknown, unknown>): Ended => {
  if (Exit.isSuccess(exit)) return { outcome: "completed", failed: false }
  const outcome = kindOf(exit.cause)
  return { outcome, failed: outcome !== "interrupted" }
}

/** Whether a tracer collects spans. */
export const isTraced: Effect.Effect<boolean> = Effect.tracerWith((tracer) => Effect.succeed(tracer !== unseen))

/** The current services for later use, without the current span, because later work does not belong to it. */
export const servicesForLater = <R>(): Effect.Effect<Context.Context<R>, never, R> =>
  Effect.map(Effect.context<R>(), (context) => {
    const services = new Map(context.unsafeMap)
    services.delete(Tracer.ParentSpan.key)
    return Context.unsafeMake<R>(services)
  })

/** The span of the current effect. */
export const spanNow: Effect.Effect<Tracer.AnySpan | undefined> = Effect.map(
  Effect.context<never>(),
  (context) => context.unsafeMap.get(Tracer.ParentSpan.key) as Tracer.AnySpan | undefined
)

/** Runs an effect in another span than the current one. */
export const underSpan = <A, E, R>(
  span: Tracer.AnySpan | undefined,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  span === undefined
    ? effect
    : Effect.mapInputContext(effect, (context: Context.Context<R>) => Context.add(context, Tracer.ParentSpan, span))
