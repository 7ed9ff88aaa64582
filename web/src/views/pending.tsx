import type { PendingGroup } from "../api";
import { age, amounts, count, devices, plural } from "../format";
import { link, params, set } from "../router";
import { matchText, parseQuery } from "../search";
import { live, now, pending } from "../store";
import { Badge, Blank, Failed, Loading, NoMatch } from "../ui/parts";
import { Fix } from "../ui/drawer";
import { useResource } from "../ui/use";

const outcomes: Record<PendingGroup["outcome"], string> = { refused: "refused", new: "new node", existing: "fits on a node", unknown: "not planned yet" };
const rank: Record<PendingGroup["outcome"], number> = { refused: 0, unknown: 1, new: 2, existing: 3 };

function Group({ g, open }: { g: PendingGroup; open: boolean }) {
  // A refusal without a NodePool is about the pods themselves, and its reason is that of the group.
  const pools = g.pools.filter((p) => p.pool);
  return (
    <li class={"pending-group outcome-" + g.outcome}>
      <div class="pending-head">
        <button type="button" class="pending-name" aria-expanded={open} onClick={() => set({ pod: open ? undefined : g.pod })}>
          <span class="times">{count(g.count)}<small>×</small></span>
          <span><code>{g.pod}</code>{g.owner && <small>{g.owner}</small>}</span>
        </button>
        <div class="pending-facts"><Badge kind={g.outcome}>{outcomes[g.outcome]}</Badge><span class="muted">{amounts(g.requested)}{g.devices.length > 0 && <>, {devices(g.devices)}</>}{g.count > 1 ? " each" : ""}</span><span class="muted">for {age(g.since, now.value)}</span></div>
      </div>
      {g.reason && g.reason !== outcomes[g.outcome] && <p class="reason">{g.reason}</p>}
      <Fix text={g.fix} />
      {g.underWay.length > 0 && (
        <p class="muted">under way: {g.underWay.map((claim, i) => <span key={claim}>{i > 0 && ", "}{live.nodes.has(claim) ? <a href={link({ node: claim }, "fleet")}>{claim}</a> : <code>{claim}</code>}</span>)}</p>
      )}
      {pools.length > 0 && !open && <button type="button" class="button small" onClick={() => set({ pod: g.pod })}>{plural(pools.length, "NodePool")} refused</button>}
      {open && pools.length > 0 && (
        <div class="table-scroll" tabIndex={0} role="region" aria-label={"NodePools that refuse " + g.pod}>
          <table class="plain">
            <thead><tr><th>NodePool</th><th>First rule that refuses</th><th>Smallest fix</th></tr></thead>
            <tbody>
              {pools.map((p) => (
                <tr key={p.pool}>
                  <td><a href={link({ pool: p.pool }, "pools")}>{p.pool}</a></td>
                  <td>{p.rule && <Badge kind="rule">{p.rule}</Badge>} {p.reason}</td>
                  <td class="good">{p.fix || <span class="muted">none found</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {open && pools.length === 0 && <p class="muted">{g.outcome === "refused" ? "The pods themselves are refused, by no NodePool." : g.outcome === "unknown" ? "Which NodePools refuse these pods is not known." : "No NodePool refuses these pods."}</p>}
    </li>
  );
}

export function PendingView() {
  const { data, failure, reload } = useResource<{ groups: PendingGroup[] }>("pending");
  const groups = pending.value ?? data?.groups;
  if (!groups) return failure ? <Failed failure={failure} retry={reload} /> : <Loading what="pending pods" />;
  const query = parseQuery(params.value.q ?? "");
  const shown = groups.filter((g) => matchText(query, g.pod, g.owner, g.reason, g.fix, ...g.devices.map((d) => d.class), ...g.pools.map((p) => p.pool)))
    .sort((a, b) => rank[a.outcome] - rank[b.outcome] || b.count - a.count || (a.pod < b.pod ? -1 : 1));
  const sum = (outcome: PendingGroup["outcome"]) => groups.filter((g) => g.outcome === outcome).reduce((n, g) => n + g.count, 0);
  if (!groups.length) return <Blank title="No pods are pending" text="Every pod has a node. Pods that wait appear here with the first rule that refuses them and the smallest fix." />;
  const parts = [[sum("refused"), "refused"], [sum("new"), "get a new node"], [sum("existing"), "fit on nodes that are there"], [sum("unknown"), "not planned yet"]] as const;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Pending pods">
      <div class="wrap">
        <p class="lede"><b>{plural(groups.reduce((n, g) => n + g.count, 0), "pod")}</b> pending in {plural(groups.length, "group")}: {parts.filter(([n]) => n).map(([n, t], i) => <span key={t}>{i > 0 && ", "}{count(n)} {t}</span>)}.</p>
        {shown.length ? <ul class="cards">{shown.map((g) => <Group key={g.pod} g={g} open={params.value.pod === g.pod} />)}</ul> : <NoMatch title="No group matches the search" />}
      </div>
    </div>
  );
}
