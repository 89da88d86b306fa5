/** Decides what the OpenAPI document says besides the routes: how to authenticate, and which problems exist. */
import { problemType, titles } from "../Problem.ts"

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const objectOf = (value: unknown): Json => isObject(value) ? value : {}

/** How requests authenticate: programs with the token, the page with a cookie and a key together. */
const securitySchemes = {
  token: { type: "http", scheme: "bearer", description: "The token in the file of the server" },
  cookie: {
    type: "apiKey",
    in: "cookie",
    name: "skein-PORT",
    description: "From a login; good only together with the key"
  },
  key: { type: "apiKey", in: "header", name: "Skein-Key", description: "From the same login as the cookie" }
}

const security = [{ token: [] }, { cookie: [], key: [] }]

const problemSchema = {
  type: "object",
  description: "Problem details (RFC 9457)",
  required: ["type", "title", "status", "detail"],
  properties: {
    type: { type: "string", description: "The kind of problem, such as urn:skein:SessionNotFound" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string", description: "What happened, and how to fix it" },
    reason: { type: "string", description: "The case, for kinds that have several" },
    which: { type: "string", description: "The exhausted budget" }
  }
}

const problemResponses = Object.fromEntries(
  Object.entries(titles).map(([status, description]) => [
    status,
    { description, content: { [problemType]: { schema: { $ref: "#/components/schemas/Problem" } } } }
  ])
)

/** The framework's own form of a bad request is never sent. */
const operationOf = (operation: unknown): unknown => {
  const { responses, tags = [], ...rest } = objectOf(operation)
  const isPublic = Array.isArray(tags) && tags.includes("public")
  return {
    ...rest,
    tags,
    security: isPublic ? [] : security,
    responses: { ...objectOf(responses), ...problemResponses }
  }
}

const foreign = new Set(["HttpApiDecodeError", "Issue", "PropertyKey"])

const ours = (schemas: Json): Json => ({
  ...Object.fromEntries(Object.entries(schemas).filter(([name]) => !foreign.has(name) && !name.startsWith("Problem"))),
  Problem: problemSchema
})

/** Completes the document that is generated from the routes. */
export const describe = (document: Json): Json => {
  const components = objectOf(document["components"])
  return {
    ...document,
    components: { ...components, schemas: ours(objectOf(components["schemas"])), securitySchemes },
    paths: Object.fromEntries(
      Object.entries(objectOf(document["paths"])).map(([path, operations]) => [
        path,
        Object.fromEntries(
          Object.entries(objectOf(operations)).map(([method, operation]) => [method, operationOf(operation)])
        )
      ])
    )
  }
}
