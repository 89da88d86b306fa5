/** Remembers which files the tools of a tree have changed; what commands change is not known. */
import type { Event } from "@skein/domain/Event"

const editors = new Set(["edit", "write", "patch"])

const isText = (value: unknown): value is string => typeof value === "string"

/** The files of a tree that were changed so far. */
export class ChangedFiles {
  readonly #names = new Set<string>()

  /** Takes an event in. */
  see(event: Event): void {
    if (event.type !== "message.part.updated" || event.properties.part.type !== "tool") return
    const { state, tool } = event.properties.part
    if (state.status !== "completed" || !editors.has(tool) || state.metadata["done"] === "unchanged") return
    const { filePath, files } = state.metadata
    if (isText(filePath)) this.#names.add(filePath)
    if (Array.isArray(files)) {
      for (const file of files.filter(isText)) this.#names.add(file.replace(/^[ADM] /, ""))
    }
  }

  /** Their names, in the order in which they were first changed. */
  get names(): ReadonlyArray<string> {
    return [...this.#names]
  }
}
