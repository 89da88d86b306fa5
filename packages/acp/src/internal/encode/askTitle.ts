/** Decides how to show a question in a line: the path of agents to the one that asks, and the whole request. */
import type { PermissionRequest } from "@skein/domain/Event"
import { visible, visibleLine } from "@skein/view/Visible"
import type { AskedOf } from "../../Change.ts"

/** What a request is about: the command, the file, the address. */
export const subjectOf = ({ metadata, patterns }: PermissionRequest): string => {
  const command: unknown = metadata["command"]
  return typeof command === "string" && command !== "" ? command : patterns.join(", ")
}

/** The words of a question of an agent, with the agents that lead to one below the root. */
export const questionText = ({ path, question }: Extract<AskedOf, { readonly kind: "question" }>["request"]): string =>
  visible(path.length > 1 ? `${path.join(" › ")}: ${question}` : question)

/** The line. Nothing of it is cut: it is what a person decides on. */
export const askTitle = (ask: AskedOf): string =>
  visibleLine(
    ask.kind === "question"
      ? questionText(ask.request)
      : `${ask.request.path.join(" › ")}: ${ask.request.permission} ${subjectOf(ask.request)}`
  )
