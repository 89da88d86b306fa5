/** Counts the requests that were not permitted in a tree. */
import type { Event, PermissionRequest } from "@skein/domain/Event"

/** The requests that were not permitted so far, found by their questions. */
export class Denials {
  readonly #asked = new Map<string, PermissionRequest>()
  readonly #denied: Array<PermissionRequest> = []

  /** Records a question that was asked before the events began. */
  asked(request: PermissionRequest): void {
    this.#asked.set(request.id, request)
  }

  /** Reads an event. */
  see(event: Event): void {
    if (event.type === "permission.asked") this.#asked.set(event.properties.id, event.properties)
    if (event.type !== "permission.replied") return
    const request = this.#asked.get(event.properties.id)
    this.#asked.delete(event.properties.id)
    if (request !== undefined && event.properties.reply === "reject" && event.properties.withdrawn !== true) {
      this.#denied.push(request)
    }
  }

  /** How many requests were denied. */
  get count(): number {
    return this.#denied.length
  }

  /** Whether the mode `auto` would have allowed one of them. */
  get autoHelps(): boolean {
    return this.#denied.some(({ needsPerson }) => needsPerson !== true)
  }

  /** The rule that would allow the first of those that a rule can allow, as config has it. */
  get rule(): string | undefined {
    const request = this.#denied.find(({ needsPerson, permission }) =>
      needsPerson !== true && permission !== "bash_credentials"
    )
    const pattern = request?.always[0] ?? request?.patterns[0]
    return request === undefined || pattern === undefined
      ? undefined
      : `"permission": ${JSON.stringify({ [request.permission]: { [pattern]: "allow" } })}`
  }

  /** One line about them: the number, and the first few. */
  get summary(): string {
    const named = this.#denied.slice(0, 3).map(({ path, patterns, permission }) =>
      `${permission} ${patterns.join(", ")} (${path.join(" > ")})`
    )
    const more = this.count - named.length
    return `${this.count === 1 ? "1 request was" : `${this.count} requests were`} not permitted: ${named.join("; ")}${
      more > 0 ? `; and ${more} more` : ""
    }`
  }
}
