"""SMPyBandits: choice and getReward, as its simulator calls them; without Numba, whose present versions it
does not know. Its epsilon-greedy exploits sums of rewards, not means, and is left out.
"""

from functools import partial

from SMPyBandits.Policies import UCB, Thompson, klUCB
from stepping import report


def play(policy, means, uniforms):
    learner = policy(len(means))
    learner.startGame()
    total = 0.0
    for uniform in uniforms:
        arm = learner.choice()
        reward = float(uniform < means[arm])
        learner.getReward(arm, reward)
        total += reward
    return total / len(uniforms)


report(
    "SMPyBandits",
    {
        "UCB1": partial(play, UCB),
        "TS-Beta": partial(play, Thompson),
        "KL-UCB": partial(play, klUCB),
    },
)
