/** Decides which spans are sent: Skein's own. Spans of libraries below them mean nothing to a reader. */
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

const ours = /^(?:Session\.prompt|Step|Task\.run|Tool\..+)$/

/** A span that is not sent. Its children are attached to the next span above it. */
interface Passed extends Tracer.Span {
  readonly isPassed: true
}

const passed = (
  name: string,
  parent: Option.Option<Tracer.AnySpan>,
  kind: Tracer.SpanKind,
  startTime: bigint
): Passed => ({
  _tag: "Span",
  isPassed: true,
  name,
  spanId: Option.match(parent, { onNone: () => "", onSome: (span) => span.spanId }),
  traceId: Option.match(parent, { onNone: () => "", onSome: (span) => span.traceId }),
  parent,
  kind,
  status: { _tag: "Started", startTime },
  context: Context.empty(),
  attributes: new Map(),
  links: [],
  sampled: false,
  attribute: nothing,
  event: nothing,
  addLinks: nothing,
  end: nothing
})

const nothing = () => undefined

const isPassed = (span: Tracer.AnySpan): span is Passed => "isPassed" in span

const sentAbove = (parent: Option.Option<Tracer.AnySpan>): Option.Option<Tracer.AnySpan> =>
  Option.isSome(parent) && isPassed(parent.value) ? sentAbove(parent.value.parent) : parent

/** A tracer that exports only Skein's spans. */
export const onlyOurs = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (name, parent, context, links, startTime, kind, options) => {
      const above = sentAbove(parent)
      return ours.test(name)
        ? tracer.span(name, above, context, links, startTime, kind, options)
        : passed(name, above, kind, startTime)
    },
    context: (run, fiber) => tracer.context(run, fiber)
  })
