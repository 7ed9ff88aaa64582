// Turns the form of the view What-if into a request.
import type { WhatIfRequest } from "./api";

export interface Form {
  manifests: string;
  /** Names of the nodes to remove, separated by commas or spaces. */
  without: string;
  /** Changed prices: TYPE=DOLLARS or TYPE/ZONE/CAPACITYTYPE=DOLLARS, separated by commas, spaces or line ends. */
  prices: string;
}

export function toRequest(form: Form): { request: WhatIfRequest } | { problem: string } {
  const prices: Record<string, number> = {};
  for (const part of form.prices.split(/[\s,]+/)) {
    if (!part) continue;
    const at = part.lastIndexOf("=");
    const value = at > 0 ? part.slice(at + 1).replace(/^\$/, "") : "";
    const price = Number(value);
    if (value === "" || !Number.isFinite(price) || price < 0) return { problem: `"${part}" is not a price. Write TYPE=DOLLARS, such as m7a.large=0.05.` };
    prices[part.slice(0, at)] = price;
  }
  const withoutNodes = form.without.split(/[\s,]+/).filter(Boolean);
  if (!form.manifests.trim() && !withoutNodes.length && !Object.keys(prices).length) return { problem: "Change something first: a manifest, a price, or a node to remove." };
  return { request: { manifests: form.manifests, withoutNodes, prices } };
}

export const workload = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: new-workload
  namespace: default
spec:
  replicas: 10
  selector:
    matchLabels: {app: new-workload}
  template:
    metadata:
      labels: {app: new-workload}
    spec:
      containers:
        - name: app
          image: example.com/app:1
          resources:
            requests: {cpu: "1", memory: 2Gi}
`;
