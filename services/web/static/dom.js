// Small words for building elements. Text is always set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function find(root, selector) {
  const node = root.querySelector(selector);
  if (!node) throw new Error(`missing ${selector}`);
  return node;
}
