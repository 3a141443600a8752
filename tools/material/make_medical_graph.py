"""Draw kgs/medical.spo from CMeKG: `python tools/material/make_medical_graph.py CMEKG_FOLDER`.

CMEKG_FOLDER holds the triples of PyPI's PyCMeKG as tab-separated .spo files.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parents[2] / "kgs" / "medical.spo"
SIZE = 40_000

KINDS = ("疾病", "症状", "药物", "检查", "部位", "治疗", "科室")

# What a term is, told by the predicates in which it is the object …
AS_OBJECT = {
    "常见症状": "症状",
    "相关症状": "症状",
    "临床症状及体征": "症状",
    "不良反应": "症状",
    "检查": "检查",
    "实验室检查": "检查",
    "影像学检查": "检查",
    "辅助检查": "检查",
    "内窥镜检查": "检查",
    "住院必检项目": "检查",
    "术前准备_必检项目": "检查",
    "常见发病部位": "部位",
    "发病部位": "部位",
    "转移部位": "部位",
    "外侵部位": "部位",
    "手术治疗": "治疗",
    "辅助治疗": "治疗",
    "治疗": "治疗",
    "化疗": "治疗",
    "放射治疗": "治疗",
    "相关药物": "药物",
    "药物治疗": "药物",
    "相关疾病": "疾病",
    "并发症": "疾病",
    "鉴别诊断": "疾病",
    "就诊科室": "科室",
}
# … or the subject. Subjects weigh more: only a disease has a department, only a drug a dose.
AS_SUBJECT = {
    "就诊科室": "疾病",
    "ICD10": "疾病",
    "并发症": "疾病",
    "多发群体": "疾病",
    "传染性": "疾病",
    "药物治疗": "疾病",
    "病因": "疾病",
    "鉴别诊断": "疾病",
    "常见病因": "疾病",
    "OTC类型": "药物",
    "用法用量": "药物",
    "药品监管分级": "药物",
    "成份": "药物",
    "不良反应": "药物",
    "药品类型": "药物",
    "功能主治": "药物",
}
SUBJECT_WEIGHT = 5
# A share below this leaves the term out: too ambiguous.
CLEAR = 0.5

# What is told of a term after its kind, the most telling first.
RELATIONS = {
    "疾病": (
        "常见症状",
        "就诊科室",
        "临床症状及体征",
        "检查",
        "常见发病部位",
        "药物治疗",
        "并发症",
    ),
    "药物": ("适应症", "主治", "分类", "药品类型", "不良反应"),
    "症状": ("相关疾病", "就诊科室", "常见病因", "检查"),
    "检查": ("相关疾病", "相关症状"),
    "部位": ("相关疾病", "相关症状"),
    "治疗": ("相关疾病",),
    "科室": (),
}
MOST_RELATIONS = 5
# Package names of drugs are legion; the other kinds are what records are made of.
MOST_DRUGS = 2_000
SAME_PREDICATE = 2

# Everyday words of records that CMeKG has not, or has in another sense.
CURATED = {
    "部位": """头部 颈部 胸部 腹部 背部 腰部 上腹 下腹 右上腹 左上腹 右下腹 左下腹 上腹部 下腹部 脐周
        左上肢 右上肢 左下肢 右下肢 双上肢 双下肢 四肢 左膝 右膝 膝关节 肩关节 髋关节 踝关节 腕关节 肘关节
        双肺 左肺 右肺 肝脏 脾脏 胰腺 胆囊 双肾 左肾 右肾 膀胱 子宫 卵巢 前列腺 甲状腺 乳腺 心脏 心前区
        胸骨 肋骨 锁骨 股骨 胫骨 腰椎 颈椎 胸椎 骨盆 头皮 面部 眼睑 结膜 角膜 瞳孔 外耳道 鼓膜 鼻腔 咽部
        扁桃体 口腔 牙龈 舌面 口唇 食管 胃部 十二指肠 小肠 结肠 直肠 阑尾 肛门 淋巴结 皮肤 指端 足背 手指
        脚趾 手背 手掌 足底 大腿 小腿 前臂 上臂 肩部 臀部 腋下 腹股沟 额部 枕部 颞部 耳后 锁骨上 胸壁 腹壁
        纵隔 胸膜 心包 腹膜 主动脉 冠状动脉 颈动脉 股动脉 脑干 小脑 大脑 脊髓 视网膜 晶状体 耳廓 鼻窦""",
    "检查": """血压 体温 脉搏 心率 呼吸频率 血糖 血脂 血常规 尿常规 便常规 肝功能 肾功能 电解质 凝血功能 心电图
        动态心电图 心脏彩超 腹部彩超 胸片 胸部CT 头颅CT 腹部CT 核磁共振 头颅MRI 腰椎MRI 胃镜 肠镜 支气管镜
        脑电图 肌电图 肺功能 骨密度 血气分析 血沉 C反应蛋白 降钙素原 糖化血红蛋白 甲状腺功能 肿瘤标志物 心肌酶
        肌钙蛋白 D二聚体 尿酸 肌酐 血红蛋白 白细胞 血小板 红细胞 淋巴细胞 中性粒细胞 血培养 痰培养 尿培养 骨髓穿刺
        腰椎穿刺 病理活检 眼底检查 裂隙灯检查 听力检查 视力检查 过敏原检测 造影 冠脉造影 CT MRI B超 彩超 X线
        叩诊 听诊 触诊 视诊 巴氏征 克氏征 墨菲征 直腿抬高试验 浮髌试验 四肢肌力 肌张力 腱反射 甲胎蛋白 血氧饱和度""",
    "治疗": """手术 化疗 放疗 输血 输液 吸氧 透析 血液透析 针灸 推拿 理疗 牵引 石膏固定 内固定术 阑尾切除术
        胆囊切除术 剖宫产术 支架植入术 搭桥手术 白内障手术 关节置换术 椎间盘摘除术 甲状腺切除术 子宫切除术 胃大部切除术
        康复训练 雾化吸入 物理降温 抗感染治疗 对症治疗 支持治疗 保守治疗 溶栓 机械通气 心肺复苏 导尿 胃肠减压 清创缝合
        换药 引流 激光治疗 介入治疗 免疫治疗 靶向治疗 骨髓移植 肾移植 肝移植 心脏起搏器植入术 射频消融术 心理治疗""",
    "药物": """阿司匹林 布洛芬 对乙酰氨基酚 阿莫西林 头孢克肟 头孢曲松 左氧氟沙星 阿奇霉素 青霉素 甲硝唑 胰岛素
        二甲双胍 格列美脲 硝苯地平 氨氯地平 美托洛尔 缬沙坦 氯沙坦 卡托普利 阿托伐他汀 辛伐他汀 氯吡格雷 华法林 肝素
        奥美拉唑 雷贝拉唑 多潘立酮 莫沙必利 蒙脱石散 地塞米松 泼尼松 氢化可的松 氨茶碱 沙丁胺醇 布地奈德 孟鲁司特
        氯雷他定 西替利嗪 呋塞米 螺内酯 地高辛 硝酸甘油 甲氨蝶呤 环磷酰胺 顺铂 紫杉醇 奥司他韦 利巴韦林 卡马西平
        丙戊酸钠 地西泮 吗啡 曲马多 甲钴胺 维生素C 钙片 硫酸亚铁 叶酸 左甲状腺素钠 甘露醇 氯化钾""",
    "症状": """头痛 头晕 发热 咳嗽 咳痰 胸闷 胸痛 气短 心悸 恶心 呕吐 腹痛 腹泻 腹胀 便秘 便血 呕血 黄疸 水肿
        乏力 消瘦 盗汗 失眠 嗜睡 抽搐 昏迷 晕厥 麻木 关节痛 腰痛 背痛 皮疹 瘙痒 流涕 鼻塞 咽痛 声音嘶哑 耳鸣
        听力下降 视物模糊 畏光 流泪 尿频 尿急 尿痛 血尿 多饮 多尿 食欲不振 反酸 烧心 嗳气 寒战 呼吸困难 咯血 喘息
        肌无力 言语不清 口角歪斜 步态不稳 月经不调 阴道出血 白带增多 脱发 牙痛 牙龈出血 口臭 打喷嚏 高热 低热 压痛
        反跳痛 啰音 杂音 紫绀 浮肿 跛行 活动受限 肿胀 疼痛 意识障碍 大小便失禁 恶寒 心慌 纳差 烦躁 气促""",
    "疾病": """高血压 糖尿病 冠心病 肺炎 支气管炎 哮喘 肺结核 慢性胃炎 胃溃疡 胃炎 肝炎 乙型肝炎 肝硬化 脂肪肝 胆囊炎
        胆结石 胰腺炎 阑尾炎 肠梗阻 肾炎 肾结石 尿毒症 前列腺增生 脑梗死 脑出血 帕金森病 癫痫 偏头痛 颈椎病 腰椎间盘突出症
        骨质疏松症 类风湿关节炎 痛风 骨折 甲状腺功能亢进症 甲状腺结节 贫血 白血病 肺癌 胃癌 肝癌 乳腺癌 结肠癌 宫颈癌
        子宫肌瘤 卵巢囊肿 湿疹 荨麻疹 银屑病 带状疱疹 白内障 青光眼 结膜炎 近视 中耳炎 鼻炎 鼻窦炎 咽炎 扁桃体炎
        手足口病 水痘 麻疹 腮腺炎 流行性感冒 心肌梗死 心绞痛 心力衰竭 心律失常 心肌炎 高脂血症 抑郁症 焦虑症""",
}

# 伴高血压 would hide 高血压 wherever the longest name wins.
_JOINERS = ("伴", "或", "及", "合并", "并发", "可有", "常有", "偶有", "有时", "可见", "出现")
_BAD_NAME = re.compile(r"[^\u4e00-\u9fffA-Za-z0-9α-ω·]")


def read(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Triples of all files, in file order."""
    for file in sorted(folder.glob("*.spo")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            cells = tuple(cell.strip() for cell in line.split("\t"))
            if len(cells) == 3 and all(cells):
                yield cells  # type: ignore[misc]


def is_name(text: str) -> bool:
    """Whether a term is worth finding: 2 to 12 characters, Chinese or a known abbreviation."""
    if not 2 <= len(text) <= 12 or _BAD_NAME.search(text) or text.startswith(_JOINERS):
        return False
    return any("\u4e00" <= char <= "\u9fff" for char in text)


def kinds_of(triples: list[tuple[str, str, str]]) -> tuple[dict[str, str], Counter[str]]:
    """Term → kind, where the evidence is clear, and how many triples speak of each term."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    weight: Counter[str] = Counter()
    for subject, predicate, value in triples:
        weight[subject] += 1
        weight[value] += 1
        if predicate in AS_SUBJECT:
            votes[subject][AS_SUBJECT[predicate]] += SUBJECT_WEIGHT
        if predicate in AS_OBJECT:
            votes[value][AS_OBJECT[predicate]] += 1
    kinds = {}
    for term, counted in votes.items():
        # Ties fall to the order of KINDS, so that nothing depends on hashing.
        kind = max(KINDS, key=lambda name: (counted[name], -KINDS.index(name)))
        if is_name(term) and counted[kind] / counted.total() > CLEAR:
            kinds[term] = kind
    return kinds, weight


def relations_of(
    triples: list[tuple[str, str, str]], kinds: dict[str, str]
) -> dict[str, list[tuple[str, str]]]:
    """Term → what is told of it, chosen by RELATIONS."""
    told: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for subject, predicate, value in triples:
        if subject in kinds and predicate in RELATIONS[kinds[subject]]:
            values = told[subject][predicate]
            fits = 2 <= len(value) <= 12 and not _BAD_NAME.search(value)
            if fits and value != subject and value not in values:
                values.append(value)
    chosen = {}
    for term, by_predicate in told.items():
        pairs = [
            (predicate, value)
            for predicate in RELATIONS[kinds[term]]
            for value in by_predicate[predicate][:SAME_PREDICATE]
        ]
        chosen[term] = pairs[:MOST_RELATIONS]
    return chosen


def draw(triples: list[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Curated terms first, then the terms of which most is told, until SIZE is reached."""
    kinds, weight = kinds_of(triples)
    curated = {term: kind for kind, words in CURATED.items() for term in words.split()}
    kinds |= curated
    relations = relations_of(triples, kinds)
    others = sorted(kinds.keys() - curated.keys(), key=lambda term: (-weight[term], term))
    count = drugs = 0
    for term in [*curated, *others]:
        drugs += kinds[term] == "药物"
        if kinds[term] == "药物" and drugs > MOST_DRUGS:
            continue
        told = relations.get(term, [])
        if count + 1 + len(told) > SIZE:
            return
        count += 1 + len(told)
        yield term, "类别", kinds[term]
        for predicate, value in told:
            yield term, predicate, value


def main(folder: Path) -> None:
    """Write the graph and print the counts for its card."""
    lines = ["\t".join(triple) for triple in draw(list(read(folder)))]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    subjects = {line.split("\t")[0] for line in lines}
    predicates = {line.split("\t")[1] for line in lines}
    print(f"triples {len(lines)} subjects {len(subjects)} predicates {len(predicates)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
