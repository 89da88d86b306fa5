/** Owns the one place where text becomes markup: a document that is never shown, runs nothing and loads nothing. */

interface Markup {
  readonly createHTML: (text: string) => string
}

interface TrustedTypes {
  readonly createPolicy: (name: string, rules: Markup) => Markup
}

const identity: Markup = { createHTML: (text) => text }

const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes }

const policy = trustedTypes?.createPolicy("skein", identity) ?? identity

/** The body of a document with this markup. Read it, but never insert it into the page. */
export const bodyOf = (html: string): HTMLElement =>
  new DOMParser().parseFromString(policy.createHTML(html), "text/html").body

/**
 * The character of a name; false if there is none. It replaces a module of the Markdown parser that uses a DOM element for this,
 * which the page's policy forbids.
 */
export const decodeNamedCharacterReference = (name: string): string | false => {
  const text = bodyOf(`&${name};`).textContent
  // The rest of an unknown name: `&lt` alone is known, and would leave the rest of `&ltx;`.
  const isLeft = text.endsWith(";") && name !== "semi"
  return isLeft || text === `&${name};` ? false : text
}
