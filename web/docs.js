// The page at /docs: shows openapi.json, and sends one choice question to v1/systemone. Text is always set as text,
// never as markup, and every address is relative, so that the page also works behind a path prefix.
"use strict";

const byId = (id) => document.getElementById(id);

// An element with attributes and children; strings become text.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const pretty = (value) => JSON.stringify(value, null, 2);
const block = (text) => make("pre", {tabindex: "0"}, text);
const paragraph = (text) => (text ? make("p", {class: "text"}, text) : null);

function table(titles, rows) {
  const head = make("tr", null, ...titles.map((title) => make("th", {scope: "col"}, title)));
  const body = rows.map((cells) => make("tr", null, ...cells.map((cell) => make("td", null, cell))));
  return make("table", null, make("thead", null, head), make("tbody", null, ...body));
}

// ---- the document ----

let whole = {};

const nameOf = (ref) => ref.slice(ref.lastIndexOf("/") + 1);

// What a $ref means; anything else is itself.
function resolved(item) {
  let at = item;
  while (at && at.$ref) at = at.$ref.slice(2).split("/").reduce((part, key) => part && part[key], whole);
  return at || {};
}

const schemaLink = (ref) => make("a", {href: "#schema-" + nameOf(ref)}, nameOf(ref));

function joined(parts, between) {
  const line = make("span");
  parts.forEach((part, index) => line.append(...(index ? [between, part] : [part])));
  return line;
}

function limitsOf(schema) {
  const words = {minimum: "≥", exclusiveMinimum: ">", exclusiveMaximum: "<", maximum: "≤", minItems: "items ≥", maxItems: "items ≤",
                 minLength: "length ≥", maxLength: "length ≤",
                 minProperties: "members ≥", maxProperties: "members ≤", pattern: "pattern", default: "default"};
  return Object.keys(words).filter((key) => key in schema).map((key) => `${words[key]} ${schema[key]}`).join(", ");
}

// A schema in one line: "array of Option", "string or null", "one of A, B".
function typeOf(schema) {
  if (schema.$ref) return schemaLink(schema.$ref);
  const choices = schema.oneOf || schema.anyOf;
  if (choices) return joined(choices.map(typeOf), " or ");
  if (schema.allOf) return joined(schema.allOf.map(typeOf), " with ");
  if ("const" in schema) return make("code", null, JSON.stringify(schema.const));
  if (schema.enum) return joined(schema.enum.map((value) => make("code", null, JSON.stringify(value))), " or ");
  const line = make("span", null, [].concat(schema.type || "any JSON").join(" or "));
  if (schema.items) line.append(" of ", typeOf(schema.items));
  if (schema.additionalProperties && schema.additionalProperties !== true) {
    line.append(" of ", typeOf(schema.additionalProperties));
  }
  const limits = limitsOf(schema);
  if (limits) line.append(make("span", {class: "hint"}, ` (${limits})`));
  return line;
}

function schemaView(name, schema) {
  const view = make("details", {id: "schema-" + name}, make("summary", null, make("code", null, name)),
                    paragraph(schema.description));
  const required = schema.required || [];
  const rows = Object.entries(schema.properties || {}).map(([key, member]) => [
    make("code", null, key), typeOf(member), required.includes(key) ? "yes" : "", member.description || ""]);
  if (rows.length) view.append(table(["Field", "Type", "Required", "Meaning"], rows));
  if (!rows.length) view.append(make("p", null, typeOf(schema)));
  if (schema.examples) view.append(...schema.examples.map((example) => block(pretty(example))));
  return view;
}

function contentViews(content) {
  return Object.entries(content || {}).flatMap(([mediaType, media]) => {
    const line = make("p", null, make("code", null, mediaType));
    if (media.schema) line.append(": ", typeOf(media.schema));
    const examples = Object.values(media.examples || {}).map((example) => {
      const {summary, value} = resolved(example);
      return make("details", null, make("summary", null, "Example" + (summary ? ": " + summary : "")),
                  block(typeof value === "string" ? value : pretty(value)));
    });
    return [line, ...examples];
  });
}

function parameterRows(parameters) {
  return (parameters || []).map(resolved).map((parameter) => [
    make("code", null, parameter.name), parameter.in, typeOf(parameter.schema || {}), parameter.description || ""]);
}

function responseRows(responses) {
  return Object.entries(responses).map(([status, response]) => {
    const {description, content, headers} = resolved(response);
    const types = make("span");
    for (const [mediaType, media] of Object.entries(content || {})) {
      types.append(make("code", null, mediaType), " ", media.schema ? typeOf(media.schema) : "", " ");
    }
    return [status, description, types, Object.keys(headers || {}).join(", ")];
  });
}

function operationView(path, method, operation, shared) {
  const title = make("summary", null, make("span", {class: "method"}, method.toUpperCase()),
                     make("code", null, path), " " + (operation.summary || ""));
  const view = make("details", {id: operation.operationId || ""}, title, paragraph(operation.description));
  const parameters = parameterRows([...(shared || []), ...(operation.parameters || [])]);
  if (parameters.length) view.append(make("h4", null, "Parameters"),
                                     table(["Name", "In", "Type", "Meaning"], parameters));
  if (operation.requestBody) view.append(make("h4", null, "Body"),
                                         ...contentViews(resolved(operation.requestBody).content));
  view.append(make("h4", null, "Replies"),
              table(["Status", "When", "Body", "Headers"], responseRows(operation.responses || {})));
  const good = resolved((operation.responses || {})["200"]);
  if (good.content) view.append(...contentViews(good.content));
  return view;
}

function showRoutes() {
  const methods = ["get", "post", "put", "patch", "delete", "head", "options"];
  const groups = new Map((whole.tags || []).map((tag) => [tag.name, {tag, views: []}]));
  for (const [path, item] of Object.entries(whole.paths)) {
    for (const method of methods.filter((name) => item[name])) {
      const tag = (item[method].tags || ["Other"])[0];
      if (!groups.has(tag)) groups.set(tag, {tag: {name: tag}, views: []});
      groups.get(tag).views.push(operationView(path, method, item[method], item.parameters));
    }
  }
  const parts = [...groups.values()].filter((group) => group.views.length).flatMap((group) => [
    make("h3", null, group.tag.name), paragraph(group.tag.description), ...group.views]);
  byId("route-list").replaceChildren(...parts.filter(Boolean));
}

// A link into a closed part opens it.
function openTarget() {
  const target = location.hash ? byId(decodeURIComponent(location.hash.slice(1))) : null;
  if (target && target.tagName === "DETAILS") target.open = true;
}

async function showDocument() {
  const reply = await fetch("openapi.json");
  if (!reply.ok) throw new Error(`openapi.json: status ${reply.status}`);
  whole = await reply.json();
  byId("version").textContent = whole.info.version;
  showRoutes();
  const schemas = Object.entries(whole.components.schemas || {});
  byId("schema-list").replaceChildren(...schemas.map(([name, schema]) => schemaView(name, schema)));
  byId("schemas").hidden = false;
  openTarget();
}

// ---- the form ----

// [[name, meaning or null]], one for each line that is not empty.
function readOptions(text) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return lines.map((line) => {
    const colon = line.indexOf(":");
    return colon < 1 ? [line, null] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim() || null];
  });
}

// Written by hand where order counts: an object of this language moves names like "10" to the front.
function bodyOf(state, question, options) {
  const criteria = options.map(([name, meaning]) => `${JSON.stringify(name)}: ${JSON.stringify(meaning)}`).join(", ");
  const stateText = /^\s*[{[]/.test(state) ? state.trim() : JSON.stringify(state);
  return `{"model": "jev-latest", "state": ${stateText},\n "questions": {"q": {"type": "choice", "instructions": ` +
         `${JSON.stringify(question)},\n  "criteria": {${criteria}}}}}`;
}

function messageOf(reply, status) {
  const parts = Array.isArray(reply.detail)
      ? reply.detail.map((entry) => `${(entry.loc || []).slice(1).join(".")}: ${entry.msg}`) : [];
  const error = reply.error || {};
  const detail = reply.detail || {};
  return parts.join("; ") || error.message || detail.message || reply.detail || reply.error || `status ${status}`;
}

function showAnswer(answer, options) {
  const rows = options.map(([name]) => {
    const share = answer.probabilities[name];
    const percent = (100 * share).toFixed(1) + " %";
    const row = make("tr", name === answer.choice ? {class: "best"} : null, make("th", {scope: "row"}, name),
                     make("td", null, percent),
                     make("td", null, make("meter", {min: "0", max: "1", value: String(share), "aria-label": name})));
    return row;
  });
  const head = make("tr", null, ...["Option", "Probability", "Bar"].map((title) => make("th", {scope: "col"}, title)));
  const line = (answer.choice === null ? "No answer" : `Answer: ${answer.choice}`) +
               `, confidence ${Number(answer.confidence).toFixed(3)}`;
  byId("answer").replaceChildren(make("p", null, line),
                                 make("table", null, make("thead", null, head), make("tbody", null, ...rows)));
}

async function decide() {
  const options = readOptions(byId("options").value);
  const body = bodyOf(byId("state").value, byId("question").value, options);
  const headers = {"Content-Type": "application/json"};
  if (byId("key").value) headers.Authorization = "Bearer " + byId("key").value;
  const began = performance.now();
  const reply = await fetch("v1/systemone", {method: "POST", headers, body});
  const text = await reply.text();
  const took = Math.round(performance.now() - began);
  byId("raw-text").textContent = `POST v1/systemone\n${body}\n\n${reply.status}, ${took} ms\n${text}`;
  byId("raw").hidden = false;
  const value = JSON.parse(text);
  if (!reply.ok) throw new Error(messageOf(value, reply.status));
  showAnswer(value.answers.q, options);
}

async function submit(event) {
  event.preventDefault();
  byId("send").disabled = true;
  try {
    await decide();
  } catch (error) {
    byId("answer").replaceChildren(make("p", {class: "error"}, String(error.message || error)));
  } finally {
    byId("send").disabled = false;
  }
}

byId("form").addEventListener("submit", submit);
byId("form").hidden = false;
addEventListener("hashchange", openTarget);
showDocument().catch((error) => {
  byId("about").after(make("p", {class: "error"}, `The routes below are a summary only: ${error.message}`));
});
