export function CostView() { return <div />; }
